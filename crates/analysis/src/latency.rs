//! Requests as the load generator saw them.

use unthrottle_model::requests::{Outcome, RequestRow};

use crate::stats::Summary;

/// How many of the slowest requests are named.
pub const SLOWEST: usize = 10;

/// Lateness of the generator above which its latencies are not to be trusted, ns.
pub const LATE_NS: i64 = 5_000_000;

/// Facts about the requests of one window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requests {
    /// Sends that the schedule asked for.
    pub scheduled: usize,
    /// Complete responses.
    pub completed: usize,
    /// How the others ended, each outcome that occurred.
    pub failed: Vec<(Outcome, usize)>,
    /// Complete responses with a status of 400 or above.
    pub error_status: usize,
    /// Latency from the intended send time, of complete responses.
    pub from_intended: Option<Summary>,
    /// Latency from the actual send, of complete responses.
    pub from_sent: Option<Summary>,
    /// How late the generator was, of all that were sent.
    pub lateness: Option<Summary>,
    /// The slowest complete ones, slowest first.
    pub slowest: Vec<RequestRow>,
}

impl Requests {
    /// Of the rows whose intended time lies in the window `[from, to]`; `None` if there are none.
    #[must_use]
    pub fn of(rows: &[RequestRow], from_ns: i64, to_ns: i64) -> Option<Self> {
        let rows: Vec<&RequestRow> =
            rows.iter().filter(|row| (from_ns..=to_ns).contains(&row.intended_ns)).collect();
        if rows.is_empty() {
            return None;
        }
        let complete: Vec<&RequestRow> =
            rows.iter().filter(|row| row.outcome == Outcome::Ok).copied().collect();
        let mut slowest: Vec<RequestRow> = complete.iter().map(|row| (*row).clone()).collect();
        slowest.sort_by_key(|row| (std::cmp::Reverse(row.latency_intended_ns()), row.intended_ns));
        slowest.truncate(SLOWEST);
        let failed = Outcome::ALL
            .into_iter()
            .map(|(outcome, _)| outcome)
            .filter(|outcome| *outcome != Outcome::Ok)
            .map(|outcome| (outcome, rows.iter().filter(|row| row.outcome == outcome).count()))
            .filter(|(_, count)| *count > 0)
            .collect();
        let summary = |rows: &[&RequestRow], time: fn(&RequestRow) -> Option<i64>| {
            Summary::of(rows.iter().filter_map(|row| time(row)).collect())
        };
        Some(Self {
            scheduled: rows.len(),
            completed: complete.len(),
            failed,
            error_status: complete.iter().filter(|row| row.status >= Some(400)).count(),
            from_intended: summary(&complete, RequestRow::latency_intended_ns),
            from_sent: summary(&complete, RequestRow::latency_sent_ns),
            lateness: summary(&rows, RequestRow::lateness_ns),
            slowest,
        })
    }

    /// Whether the generator kept its schedule: nothing skipped, and p99 of its lateness small.
    #[must_use]
    pub fn kept_schedule(&self) -> bool {
        let skipped = self.failed.iter().any(|(outcome, _)| *outcome == Outcome::Skipped);
        !skipped && self.lateness.is_none_or(|lateness| lateness.p99_ns <= LATE_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(intended_ns: i64, latency_ns: i64, outcome: Outcome) -> RequestRow {
        let done = (outcome == Outcome::Ok).then_some(intended_ns + latency_ns);
        RequestRow {
            intended_ns,
            sent_ns: (outcome != Outcome::Skipped).then_some(intended_ns + 10),
            first_byte_ns: done,
            done_ns: done,
            local_port: Some(1),
            status: done.map(|_| 200),
            outcome,
        }
    }

    #[test]
    fn only_the_window_and_only_complete_ones() {
        let rows = vec![
            row(0, 1, Outcome::Ok),
            row(100, 50, Outcome::Ok),
            row(110, 90, Outcome::Ok),
            row(120, 0, Outcome::Timeout),
            row(999, 1, Outcome::Ok),
        ];
        let requests = Requests::of(&rows, 100, 200).expect("some");
        assert_eq!((requests.scheduled, requests.completed), (3, 2));
        assert_eq!(requests.failed, vec![(Outcome::Timeout, 1)]);
        assert_eq!(requests.from_intended.map(|s| s.max_ns), Some(90));
        assert_eq!(requests.from_sent.map(|s| s.max_ns), Some(80));
        assert_eq!(requests.slowest[0].intended_ns, 110);
        assert!(requests.kept_schedule());
        assert_eq!(Requests::of(&rows, 300, 400), None);
    }

    #[test]
    fn a_skipped_send_breaks_the_schedule() {
        let rows = vec![row(0, 1, Outcome::Ok), row(1, 0, Outcome::Skipped)];
        assert!(!Requests::of(&rows, 0, 9).expect("some").kept_schedule());
    }
}

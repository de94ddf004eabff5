//! Requests as the load generator saw them, and their file.
//!
//! One row a scheduled send, also for those that were skipped or failed: what is left out of a file
//! cannot be missed in a percentile later.

use crate::error::{ErrorKind, Explained};

/// How one scheduled send ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The whole response was read.
    Ok,
    /// Not sent: the cap on requests in flight was reached.
    Skipped,
    /// Connection refused or not established.
    Connect,
    /// The connection broke, or the server closed it before the response was complete.
    Broken,
    /// The answer was not HTTP/1.x.
    BadResponse,
    /// No complete response within the timeout.
    Timeout,
    /// Still in flight when the run ended or was interrupted.
    Unfinished,
}

impl Outcome {
    /// Every outcome, with the word used in files.
    pub const ALL: [(Self, &'static str); 7] = [
        (Self::Ok, "ok"),
        (Self::Skipped, "skipped"),
        (Self::Connect, "connect"),
        (Self::Broken, "broken"),
        (Self::BadResponse, "bad_response"),
        (Self::Timeout, "timeout"),
        (Self::Unfinished, "unfinished"),
    ];

    /// The word used in files.
    #[must_use]
    pub fn word(self) -> &'static str {
        Self::ALL.iter().find(|(outcome, _)| *outcome == self).map_or("", |(_, word)| word)
    }
}

/// One scheduled send. Times are ns of `CLOCK_MONOTONIC`; `None` = did not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestRow {
    /// When the schedule wanted it sent.
    pub intended_ns: i64,
    /// When the generator began to send it (new connection: began to connect).
    pub sent_ns: Option<i64>,
    /// When the first byte of the response arrived.
    pub first_byte_ns: Option<i64>,
    /// When the last byte of the response arrived.
    pub done_ns: Option<i64>,
    /// The generator's port, which names the connection on the server's side.
    pub local_port: Option<u16>,
    /// HTTP status.
    pub status: Option<u16>,
    /// How it ended.
    pub outcome: Outcome,
}

impl RequestRow {
    /// Latency from the intended send time, ns: what a user who came on schedule waited.
    #[must_use]
    pub fn latency_intended_ns(&self) -> Option<i64> {
        self.done_ns.map(|done| done - self.intended_ns)
    }

    /// Latency from the actual send time, ns.
    #[must_use]
    pub fn latency_sent_ns(&self) -> Option<i64> {
        Some(self.done_ns? - self.sent_ns?)
    }

    /// How late the generator was, ns.
    #[must_use]
    pub fn lateness_ns(&self) -> Option<i64> {
        self.sent_ns.map(|sent| sent - self.intended_ns)
    }
}

/// First line of a requests file.
pub const CSV_HEADER: &str = "intended_ns,sent_ns,first_byte_ns,done_ns,local_port,status,outcome";

/// One row as a line without its end.
#[must_use]
pub fn to_csv_line(row: &RequestRow) -> String {
    fn cell<T: ToString>(value: Option<T>) -> String {
        value.map_or_else(String::new, |v| v.to_string())
    }
    format!(
        "{},{},{},{},{},{},{}",
        row.intended_ns,
        cell(row.sent_ns),
        cell(row.first_byte_ns),
        cell(row.done_ns),
        cell(row.local_port),
        cell(row.status),
        row.outcome.word()
    )
}

/// A requests file that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CsvError {
    /// The first line is not the header.
    #[error("line 1 is not `{CSV_HEADER}`")]
    Header,
    /// A line does not have the right cells.
    #[error("line {line}: `{text}` is not a request")]
    Line {
        /// Line number from 1.
        line: usize,
        /// What stands there, shortened.
        text: String,
    },
}

impl Explained for CsvError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::User
    }
    fn hint(&self) -> Option<String> {
        Some("write such a file with `unthrottle lab load URL --requests FILE`".to_owned())
    }
}

/// Whether its times can be those of one clock: a file of rows is input, and may say anything.
fn possible(row: &RequestRow) -> bool {
    let mut last_ns = row.intended_ns;
    [row.sent_ns, row.first_byte_ns, row.done_ns].into_iter().flatten().all(|mark_ns| {
        let forward = mark_ns >= last_ns && mark_ns.checked_sub(row.intended_ns).is_some();
        last_ns = mark_ns;
        forward
    })
}

/// Reads a requests file. A last line without its end is a row still being written: left out.
///
/// # Errors
/// If the header is missing or a complete line does not parse.
pub fn from_csv(text: &str) -> Result<Vec<RequestRow>, CsvError> {
    let mut rows = Vec::new();
    let complete = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut lines = complete.lines().enumerate();
    if lines.next().map(|(_, line)| line.trim()) != Some(CSV_HEADER) {
        return Err(CsvError::Header);
    }
    for (index, line) in lines {
        let row = from_csv_line(line).ok_or_else(|| CsvError::Line {
            line: index + 1,
            text: line.chars().take(60).collect(),
        })?;
        rows.push(row);
    }
    Ok(rows)
}

fn from_csv_line(line: &str) -> Option<RequestRow> {
    fn cell<T: std::str::FromStr>(text: &str) -> Option<Option<T>> {
        if text.is_empty() { Some(None) } else { text.parse().ok().map(Some) }
    }
    let cells: Vec<&str> = line.trim_end_matches('\r').split(',').collect();
    let [intended, sent, first, done, port, status, outcome] = cells.as_slice() else {
        return None;
    };
    let outcome = Outcome::ALL.iter().find(|(_, word)| word == outcome)?.0;
    let row = RequestRow {
        intended_ns: intended.parse().ok()?,
        sent_ns: cell(sent)?,
        first_byte_ns: cell(first)?,
        done_ns: cell(done)?,
        local_port: cell(port)?,
        status: cell(status)?,
        outcome,
    };
    possible(&row).then_some(row)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> RequestRow {
        RequestRow {
            intended_ns: 100,
            sent_ns: Some(110),
            first_byte_ns: Some(150),
            done_ns: Some(160),
            local_port: Some(4000),
            status: Some(200),
            outcome: Outcome::Ok,
        }
    }

    #[test]
    fn both_latencies() {
        assert_eq!(row().latency_intended_ns(), Some(60));
        assert_eq!(row().latency_sent_ns(), Some(50));
        assert_eq!(row().lateness_ns(), Some(10));
    }

    #[test]
    fn round_trip_and_half_written_line() {
        let skipped = RequestRow {
            sent_ns: None,
            first_byte_ns: None,
            done_ns: None,
            local_port: None,
            status: None,
            outcome: Outcome::Skipped,
            ..row()
        };
        let text =
            format!("{CSV_HEADER}\n{}\n{}\n123,4", to_csv_line(&row()), to_csv_line(&skipped));
        assert_eq!(from_csv(&text), Ok(vec![row(), skipped]));
    }

    #[test]
    fn bad_files() {
        assert_eq!(from_csv("a,b\n"), Err(CsvError::Header));
        assert_eq!(from_csv(""), Err(CsvError::Header));
        let text = format!("{CSV_HEADER}\nx,,,,,,ok\n");
        assert!(matches!(from_csv(&text), Err(CsvError::Line { line: 2, .. })));
        // Done before it was sent: not the times of one clock.
        let text = format!("{CSV_HEADER}\n100,120,,110,,,ok\n");
        assert!(matches!(from_csv(&text), Err(CsvError::Line { line: 2, .. })));
    }
}

//! Increases of counters over a window, never ratios of lifetime totals.
//!
//! Readings are added up pair by pair, so that an interval in which a counter went back (the group
//! was made anew) is left out and told, and the rest of the window still counts.

use unthrottle_model::rows::{Counters, SampleRow};

/// Increases of one group's counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Increase {
    /// Time between the first and the last reading that count, ns.
    pub span_ns: i64,
    /// Increase of each counter; `None` if it was never read twice.
    pub counters: Counters,
    /// Intervals left out because a counter went back.
    pub went_back: u32,
    /// Times a 32-bit counter went from its largest to its smallest value.
    pub wrapped: u32,
}

impl Increase {
    /// Of one group's samples, in order of time.
    #[must_use]
    pub fn of<'a>(samples: impl IntoIterator<Item = &'a SampleRow>) -> Self {
        let mut total = Self::default();
        let mut last: Option<&SampleRow> = None;
        for sample in samples {
            if let Some(last) = last {
                total.add(last, sample);
            }
            last = Some(sample);
        }
        total
    }

    fn add(&mut self, from: &SampleRow, to: &SampleRow) {
        let Some((step, wrapped)) = step(&from.counters, &to.counters) else {
            self.went_back += 1;
            return;
        };
        self.wrapped += u32::from(wrapped);
        self.span_ns += to.time_ns - from.time_ns;
        merge(&mut self.counters, &step);
    }

    /// Span in seconds.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        self.span_ns as f64 / 1e9
    }
}

/// Increase between two readings and whether a 32-bit counter wrapped; `None` if any went back.
fn step(from: &Counters, to: &Counters) -> Option<(Counters, bool)> {
    let mut wrapped = false;
    let mut narrow = |from: Option<i64>, to: Option<i64>| -> Option<Option<i64>> {
        let (Some(from), Some(to)) = (from, to) else { return Some(None) };
        if to >= from {
            return Some(to.checked_sub(from));
        }
        // `int` in the kernel, printed with its sign (kernel/sched/core.c, cpu_cfs_stat_show).
        let (least, half, most) =
            (i64::from(i32::MIN), i64::from(i32::MAX / 2), i64::from(i32::MAX));
        if (half + 1..=most).contains(&from) && (least..-half).contains(&to) {
            wrapped = true;
            return Some(Some(to - from + (1 << 32)));
        }
        None
    };
    let wide = |from: Option<i64>, to: Option<i64>| -> Option<Option<i64>> {
        match (from, to) {
            (Some(from), Some(to)) if to < from => None,
            (Some(from), Some(to)) => Some(to.checked_sub(from)),
            _ => Some(None),
        }
    };
    let step = Counters {
        nr_periods: narrow(from.nr_periods, to.nr_periods)?,
        nr_throttled: narrow(from.nr_throttled, to.nr_throttled)?,
        nr_bursts: narrow(from.nr_bursts, to.nr_bursts)?,
        throttled_ns: wide(from.throttled_ns, to.throttled_ns)?,
        throttled_local_ns: wide(from.throttled_local_ns, to.throttled_local_ns)?,
        burst_ns: wide(from.burst_ns, to.burst_ns)?,
        usage_ns: wide(from.usage_ns, to.usage_ns)?,
        psi_some_ns: wide(from.psi_some_ns, to.psi_some_ns)?,
        psi_full_ns: wide(from.psi_full_ns, to.psi_full_ns)?,
    };
    Some((step, wrapped))
}

fn merge(into: &mut Counters, step: &Counters) {
    let add = |into: &mut Option<i64>, step: Option<i64>| {
        if let Some(step) = step {
            *into = Some(into.unwrap_or(0).saturating_add(step));
        }
    };
    add(&mut into.nr_periods, step.nr_periods);
    add(&mut into.nr_throttled, step.nr_throttled);
    add(&mut into.nr_bursts, step.nr_bursts);
    add(&mut into.throttled_ns, step.throttled_ns);
    add(&mut into.throttled_local_ns, step.throttled_local_ns);
    add(&mut into.burst_ns, step.burst_ns);
    add(&mut into.usage_ns, step.usage_ns);
    add(&mut into.psi_some_ns, step.psi_some_ns);
    add(&mut into.psi_full_ns, step.psi_full_ns);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(time_ns: i64, nr_periods: i64, nr_throttled: i64, usage_ns: i64) -> SampleRow {
        let counters = Counters {
            nr_periods: Some(nr_periods),
            nr_throttled: Some(nr_throttled),
            usage_ns: Some(usage_ns),
            ..Counters::default()
        };
        SampleRow { time_ns, group: 0, counters }
    }

    #[test]
    fn the_window_counts_not_the_lifetime() {
        let increase = Increase::of(&[sample(0, 1000, 400, 0), sample(60, 9000, 400, 5)]);
        assert_eq!(increase.counters.nr_periods, Some(8000));
        assert_eq!(increase.counters.nr_throttled, Some(0));
        assert_eq!(increase.counters.throttled_ns, None);
    }

    #[test]
    fn a_restart_leaves_its_interval_out() {
        let samples = [
            sample(0, 100, 50, 900),
            sample(10, 110, 55, 990),
            sample(20, 3, 1, 10),
            sample(30, 13, 2, 60),
        ];
        let increase = Increase::of(&samples);
        assert_eq!(increase.went_back, 1);
        assert_eq!(increase.span_ns, 20);
        assert_eq!(increase.counters.nr_periods, Some(20));
        assert_eq!(increase.counters.nr_throttled, Some(6));
        assert_eq!(increase.counters.usage_ns, Some(140));
    }

    #[test]
    fn a_counter_that_wraps_goes_on() {
        let (max, min) = (i64::from(i32::MAX), i64::from(i32::MIN));
        let increase = Increase::of(&[sample(0, max - 1, 0, 0), sample(1, min + 2, 1, 1)]);
        assert_eq!((increase.wrapped, increase.went_back), (1, 0));
        assert_eq!(increase.counters.nr_periods, Some(4));
        let crossing = Increase::of(&[sample(0, -2, 0, 0), sample(1, 3, 1, 1)]);
        assert_eq!(crossing.counters.nr_periods, Some(5));
    }

    #[test]
    fn one_reading_is_no_window() {
        assert_eq!(Increase::of(&[sample(0, 1, 1, 1)]), Increase::default());
    }
}

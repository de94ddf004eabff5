//! Every limited group of a host, worst first, by what counters can tell.

use unthrottle_model::rows::Batch;

use crate::level::{Level, level_of};

/// One limited group over a window.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranked {
    /// Its facts.
    pub level: Level,
    /// At most this much wall-clock time a minute was some of it stopped, ms; `None` if unread.
    pub stopped_ms_per_minute_at_most: Option<f64>,
}

/// Ranks the groups of a batch that have a quota.
#[must_use]
pub fn rank(rows: &Batch) -> Vec<Ranked> {
    let mut ranked: Vec<Ranked> = rows
        .groups
        .iter()
        .map(|group| level_of(rows, group))
        .filter(|level| level.limits.iter().any(|row| row.limit.cores().is_some()))
        .map(|level| Ranked { stopped_ms_per_minute_at_most: stopped_at_most(&level), level })
        .collect();
    ranked.sort_by(|a, b| {
        let key = |each: &Ranked| each.stopped_ms_per_minute_at_most.unwrap_or(-1.0);
        key(b).total_cmp(&key(a)).then_with(|| a.level.group.path.cmp(&b.level.group.path))
    });
    ranked
}

/// Upper bound of the wall-clock time a minute, ms, with some thread stopped: the sum over CPUs cannot be less.
/// A stop that had not ended at the last reading is not in it. `None` without a quota.
#[must_use]
pub fn stopped_at_most(level: &Level) -> Option<f64> {
    level.limits.iter().find(|row| row.limit.cores().is_some())?;
    let seconds = level.increase.seconds();
    let throttled_ns = level.increase.counters.throttled_ns? as f64;
    (seconds > 0.0).then(|| (throttled_ns / 1e6).min(seconds * 1e3) / seconds * 60.0)
}

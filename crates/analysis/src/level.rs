//! One level of the way from the target to the root: its limit and what it did in the window.

use unthrottle_model::recording::Recording;
use unthrottle_model::rows::{Batch, GroupKey, GroupRow, LimitRow, LimitState, SampleRow};

use crate::delta::Increase;

/// Facts of one level.
#[derive(Debug, Clone, PartialEq)]
pub struct Level {
    /// Who it is.
    pub group: GroupRow,
    /// Its limits in order of time: at least one if it was ever read.
    pub limits: Vec<LimitRow>,
    /// Increases over the window.
    pub increase: Increase,
    /// Periods of its grid that fit into the window, by the limits in force; `None` without quota.
    pub wall_periods: Option<f64>,
    /// CPU time its own limit allowed in the window, ns; `None` if it had none all along.
    pub allowed_ns: Option<f64>,
    /// CPU time used in the same stretches, ns; `None` also where its usage has no counter.
    pub used_of_allowed_ns: Option<f64>,
}

impl Level {
    /// The last limit seen.
    #[must_use]
    pub fn limit(&self) -> Option<LimitState> {
        self.limits.last().map(|row| row.limit)
    }

    /// The last quota seen, cores: the one that counted, also if it was lifted since.
    #[must_use]
    pub fn last_quota_cores(&self) -> Option<f64> {
        self.limits.iter().rev().find_map(|row| row.limit.cores())
    }

    /// Whether its own quota stopped something: nr_throttled rose.
    #[must_use]
    pub fn binding(&self) -> bool {
        self.increase.counters.nr_throttled.is_some_and(|count| count > 0)
    }

    /// Increase of nr_throttled per active period; `None` without an active period.
    #[must_use]
    pub fn throttle_ratio(&self) -> Option<f64> {
        let periods = self.increase.counters.nr_periods.filter(|count| *count > 0)?;
        Some(self.increase.counters.nr_throttled? as f64 / periods as f64)
    }

    /// The same per period of the wall clock.
    #[must_use]
    pub fn throttle_wall_ratio(&self) -> Option<f64> {
        let periods = self.wall_periods.filter(|count| *count > 0.0)?;
        // The window may begin and end inside a period: one more boundary than fits.
        Some((self.increase.counters.nr_throttled? as f64 / periods).min(1.0))
    }

    /// Mean use, cores.
    #[must_use]
    pub fn usage_cores(&self) -> Option<f64> {
        let seconds = self.increase.seconds();
        (seconds > 0.0).then_some(self.increase.counters.usage_ns? as f64 / 1e9 / seconds)
    }

    /// Mean use of its own limit.
    #[must_use]
    pub fn usage_of_own_limit(&self) -> Option<f64> {
        let allowed = self.allowed_ns.filter(|allowed| *allowed > 0.0)?;
        let used = match self.used_of_allowed_ns {
            Some(used) => used,
            None => self.increase.counters.usage_ns? as f64,
        };
        Some(used / allowed)
    }
}

/// All levels, root first.
#[must_use]
pub fn levels(recording: &Recording) -> Vec<Level> {
    let target = recording.meta.target.group;
    let up = recording.rows.groups.iter().filter(|group| group.group <= target);
    up.map(|group| level_of(&recording.rows, group)).collect()
}

/// Limited groups below the target.
#[must_use]
pub fn below(recording: &Recording) -> Vec<Level> {
    let target = recording.meta.target.group;
    let down = recording.rows.groups.iter().filter(|group| group.group > target);
    down.map(|group| level_of(&recording.rows, group)).collect()
}

/// Facts of one group of a batch.
#[must_use]
pub fn level_of(rows: &Batch, group: &GroupRow) -> Level {
    let samples: Vec<&SampleRow> =
        rows.samples.iter().filter(|row| row.group == group.group).collect();
    let limits: Vec<LimitRow> =
        rows.limits.iter().filter(|row| row.group == group.group).copied().collect();
    let (mut wall, mut allowed, mut used) = (None, None, None);
    for pair in samples.windows(2) {
        // What is left out of the increases is left out of what they are compared with.
        let increase = Increase::of(pair.iter().copied());
        if increase.went_back > 0 {
            continue;
        }
        let span_ns = (pair[1].time_ns - pair[0].time_ns) as f64;
        let Some(LimitState::Limit(limit)) = limit_at(&limits, pair[0].time_ns) else { continue };
        if let Some(quota) = limit.quota() {
            *wall.get_or_insert(0.0) += span_ns / (quota.period_us as f64 * 1e3);
            // Where the limit changed in between, nobody knows how much each part allowed.
            if limit_at(&limits, pair[1].time_ns) != Some(LimitState::Limit(limit)) {
                continue;
            }
            *allowed.get_or_insert(0.0) += span_ns * quota.cores();
            if let Some(usage_ns) = increase.counters.usage_ns {
                *used.get_or_insert(0.0) += usage_ns as f64;
            }
        }
    }
    Level {
        group: group.clone(),
        limits,
        increase: Increase::of(samples.iter().copied()),
        wall_periods: wall,
        allowed_ns: allowed,
        used_of_allowed_ns: used,
    }
}

/// One group's samples in order of time.
#[must_use]
pub fn samples_of(recording: &Recording, group: GroupKey) -> Vec<&SampleRow> {
    recording.rows.samples.iter().filter(|row| row.group == group).collect()
}

/// The limit in force at a time: the last row at or before it. Limits are read just after the
/// counters, so the first row counts for the first sample too.
#[must_use]
pub fn limit_at(limits: &[LimitRow], time_ns: i64) -> Option<LimitState> {
    limits.iter().rev().find(|row| row.time_ns <= time_ns).or(limits.first()).map(|row| row.limit)
}

/// What bounds the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EffectiveBy {
    /// The quota of the level with this key.
    Quota(GroupKey),
    /// Its cpuset.
    Cpuset,
    /// The number of CPUs.
    Cpus,
}

/// The smallest of all limits, in cores, and what it comes from. The quota is named first where it
/// equals a width, because only a quota stops anyone.
#[must_use]
pub fn effective(
    levels: &[Level],
    cpuset_cpus: Option<u32>,
    cpus_online: u32,
    at_ns: Option<i64>,
) -> (f64, EffectiveBy) {
    let mut best = (f64::from(cpus_online), EffectiveBy::Cpus);
    if let Some(cpus) = cpuset_cpus.map(f64::from).filter(|cpus| *cpus < best.0) {
        best = (cpus, EffectiveBy::Cpuset);
    }
    for level in levels {
        let limit = match at_ns {
            Some(time_ns) => limit_at(&level.limits, time_ns),
            None => level.limit(),
        };
        let Some(cores) = limit.and_then(|limit| limit.cores()) else { continue };
        let from_width = !matches!(best.1, EffectiveBy::Quota(_));
        if cores < best.0 || (from_width && cores <= best.0) {
            best = (cores, EffectiveBy::Quota(level.group.group));
        }
    }
    best
}

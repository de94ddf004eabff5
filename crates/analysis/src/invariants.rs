//! Relations that the kernel's rules force on every window (N9). A broken one means that the inputs
//! contradict each other: another group's counters, a sum read as wall time, a faulty kernel.

use unthrottle_model::recording::HostFacts;
use unthrottle_model::rows::{LimitState, UsageSource};

use crate::level::Level;

/// Default of `sched_cfs_bandwidth_slice_us`.
const SLICE_US: u64 = 5_000;
/// A tick at HZ = 100, the longest in use: taken where HZ is not known.
const LONGEST_TICK_NS: i64 = 10_000_000;

/// One relation, checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Checked {
    /// The left side, ns.
    pub value_ns: i64,
    /// What it must not exceed, ns.
    pub bound_ns: i64,
}

impl Checked {
    /// Whether it holds.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.value_ns <= self.bound_ns
    }
}

/// `usage <= quota x (nr_periods + 1) + burst + CPUs x (slice + tick)`.
///
/// Each expiration refills at most one quota; the pool may have been full at the begin of the
/// window, hence the one more. From 6.18 on, work inside the kernel may run up more debt than that;
/// it is paid back later, so only short windows are concerned.
#[must_use]
pub fn usage_within_quota(level: &Level, host: &HostFacts) -> Option<Checked> {
    // Each rewrite of a limit refills the pool: how often that was, is not known.
    if level.limits.len() > 1 {
        return None;
    }
    let counters = &level.increase.counters;
    // The largest quota of the window: with a limit that changed, the bound is the looser one.
    let quotas = level.limits.iter().filter_map(|row| match row.limit {
        LimitState::Limit(limit) => limit.quota().copied(),
        LimitState::None(_) => None,
    });
    let unlimited = level.limits.iter().any(|row| row.limit.cores().is_none());
    let quota = quotas.max_by_key(|quota| quota.quota_us).filter(|_| !unlimited)?;
    let refills = counters.nr_periods?.checked_add(1)?;
    let cpus = i64::from(host.cpus_online);
    let slack_ns = cpus.checked_mul(slice_ns(host).checked_add(tick_ns(host))?)?;
    let burst_ns = i64::try_from(quota.burst_us).ok()?.checked_mul(1_000)?;
    let quota_ns = i64::try_from(quota.quota_us).ok()?.checked_mul(1_000)?;
    let bound_ns = quota_ns.checked_mul(refills)?.checked_add(burst_ns)?.checked_add(slack_ns)?;
    Some(Checked { value_ns: counters.usage_ns?, bound_ns })
}

/// `nr_throttled x quota <= usage + CPUs x slice`, from 5.4 on: a period counts as throttled only
/// when its whole quota was drawn, and what was drawn was used but for a slice a CPU.
#[must_use]
pub fn throttled_within_usage(level: &Level, host: &HostFacts) -> Option<Checked> {
    if level.limits.len() > 1 {
        return None;
    }
    if host.kernel_version? < (5, 4) {
        return None;
    }
    // Threads that came and went are missing in their sum: it is less than what was used.
    if level.group.usage_source == UsageSource::Threads {
        return None;
    }
    let counters = &level.increase.counters;
    let smallest = level.limits.iter().filter_map(|row| match row.limit {
        LimitState::Limit(limit) => limit.quota().map(|quota| quota.quota_us),
        LimitState::None(_) => None,
    });
    let quota_ns = i64::try_from(smallest.min()?).ok()?.checked_mul(1_000)?;
    // The period in which the window begins drew its quota before: one may count that we did not see.
    let counted = (counters.nr_throttled? - 1).max(0);
    let slack_ns =
        i64::from(host.cpus_online).checked_mul(slice_ns(host).checked_add(tick_ns(host))?)?;
    Some(Checked {
        value_ns: counted.checked_mul(quota_ns)?,
        bound_ns: counters.usage_ns?.checked_add(slack_ns)?,
    })
}

fn slice_ns(host: &HostFacts) -> i64 {
    i64::try_from(host.slice_us.unwrap_or(SLICE_US)).unwrap_or(5_000).saturating_mul(1_000)
}

fn tick_ns(host: &HostFacts) -> i64 {
    host.hz.filter(|hz| *hz > 0).map_or(LONGEST_TICK_NS, |hz| 1_000_000_000 / i64::from(hz))
}

//! Hypotheses, each with a verdict: what was checked, not only what was found.

use unthrottle_model::rows::{EventKind, GroupKey, LimitState};

use crate::explain::Explanation;
use crate::invariants::{self, Checked};
use crate::machine::{CONTENTION_RATIO, DISTURBED_CORES, DISTURBED_STEAL};

/// What is said of a hypothesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FindingVerdict {
    /// It holds.
    Accepted,
    /// It does not hold.
    Rejected,
    /// It could not be decided.
    NotEnoughData,
}

/// A hypothesis that was checked. The numbers it rests on are in the [`Explanation`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// A CPU quota stopped the target.
    Quota,
    /// The quota that did it belongs to a level above the target.
    ParentLimit,
    /// A group below the target was stopped by a limit of its own.
    LimitedBelow,
    /// A level that is not visible from here stopped the target.
    HiddenLimit,
    /// The target's threads waited for a CPU that others used.
    Contention,
    /// The hypervisor took CPU time away.
    Steal,
    /// Others kept the machine busy.
    OtherLoad,
    /// Burst was drawn at this level.
    Burst(GroupKey),
    /// More was used than the limit allows (an invariant).
    UsageAboveQuota(GroupKey, Checked),
    /// More periods count as throttled than the use can have filled (an invariant).
    ThrottledAboveUsage(GroupKey, Checked),
    /// The limit of this level changed while it was watched.
    LimitChanged(GroupKey, LimitState, LimitState),
    /// The group was made anew while it was watched.
    Restarted(GroupKey),
    /// The group was removed while it was watched.
    Vanished(GroupKey),
    /// A counter of this level went back.
    CounterWentBack(GroupKey),
    /// The load generator did not keep its schedule.
    GeneratorLate,
    /// Steal, other load or lateness disturbed a measurement of ours.
    Disturbed,
}

impl Check {
    /// Name in JSON.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Quota => "quota",
            Self::ParentLimit => "parent_limit",
            Self::LimitedBelow => "limited_below",
            Self::HiddenLimit => "hidden_limit",
            Self::Contention => "contention",
            Self::Steal => "steal",
            Self::OtherLoad => "other_load",
            Self::Burst(_) => "burst",
            Self::UsageAboveQuota(..) => "usage_above_quota",
            Self::ThrottledAboveUsage(..) => "throttled_above_usage",
            Self::LimitChanged(..) => "limit_changed",
            Self::Restarted(_) => "restarted",
            Self::Vanished(_) => "vanished",
            Self::CounterWentBack(_) => "counter_went_back",
            Self::GeneratorLate => "generator_late",
            Self::Disturbed => "disturbed",
        }
    }
}

/// A checked hypothesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finding {
    /// Which.
    pub check: Check,
    /// What came out.
    pub verdict: FindingVerdict,
}

/// All of them, in the order in which people ask. `e.findings` is not looked at.
#[must_use]
pub fn findings(e: &Explanation) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut add = |check, verdict| found.push(Finding { check, verdict });
    add(Check::Quota, quota(e));
    if e.levels.len() > 1 {
        add(Check::ParentLimit, decide(Some(e.binding().any(|key| key != e.target_key()))));
    }
    if let Some(verdict) = hidden(e) {
        add(Check::HiddenLimit, verdict);
    }
    if !e.below.is_empty() {
        add(Check::LimitedBelow, decide(Some(e.throttled_below())));
    }
    add(Check::Contention, decide(e.contended()));
    add(Check::Steal, decide(e.host.map(|host| host.steal_ratio > DISTURBED_STEAL)));
    let other = e.host.and_then(|host| host.other_cores);
    add(Check::OtherLoad, decide(other.map(|cores| cores > DISTURBED_CORES)));
    for level in &e.levels {
        let key = level.group.group;
        let has_burst = level.limits.iter().any(|row| match row.limit {
            LimitState::Limit(limit) => limit.quota().is_some_and(|quota| quota.burst_us > 0),
            LimitState::None(_) => false,
        });
        if has_burst {
            let used = level.increase.counters.nr_bursts.map(|count| count > 0);
            add(Check::Burst(key), decide(used));
        }
        if let Some(checked) = invariants::usage_within_quota(level, &e.meta.host) {
            add(Check::UsageAboveQuota(key, checked), decide(Some(!checked.holds())));
        }
        if let Some(checked) = invariants::throttled_within_usage(level, &e.meta.host) {
            add(Check::ThrottledAboveUsage(key, checked), decide(Some(!checked.holds())));
        }
        for pair in level.limits.windows(2) {
            add(Check::LimitChanged(key, pair[0].limit, pair[1].limit), FindingVerdict::Accepted);
        }
        if level.increase.went_back > 0 {
            add(Check::CounterWentBack(key), FindingVerdict::Accepted);
        }
    }
    for event in &e.events {
        let check = match event.kind {
            EventKind::Vanished => Check::Vanished(event.group),
            EventKind::Restarted { .. } => Check::Restarted(event.group),
        };
        add(check, FindingVerdict::Accepted);
    }
    if let Some(requests) = &e.requests {
        add(Check::GeneratorLate, decide(Some(!requests.kept_schedule())));
        add(Check::Disturbed, decide(e.disturbed()));
    }
    found
}

fn decide(holds: Option<bool>) -> FindingVerdict {
    match holds {
        Some(true) => FindingVerdict::Accepted,
        Some(false) => FindingVerdict::Rejected,
        None => FindingVerdict::NotEnoughData,
    }
}

/// Rejected also where no level has a limit: then nothing can have been stopped by one.
fn quota(e: &Explanation) -> FindingVerdict {
    if e.throttled() {
        FindingVerdict::Accepted
    } else if e.counters_unreadable() || e.hidden_stop_suspected() || e.too_short() {
        FindingVerdict::NotEnoughData
    } else {
        FindingVerdict::Rejected
    }
}

/// Only asked where levels are hidden. `cpu.stat.local` counts stops by any level, hidden or not.
fn hidden(e: &Explanation) -> Option<FindingVerdict> {
    let local = e.levels.last()?.increase.counters.throttled_local_ns;
    e.meta.target.levels_hidden.then(|| decide(local.map(|_| e.hidden_stop())))
}

/// Re-exported for wording: the share above which waiting is contention.
pub const CONTENTION: f64 = CONTENTION_RATIO;

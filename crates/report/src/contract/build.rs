//! From facts to the contract.

use std::collections::BTreeMap;

use unthrottle_analysis::level::{EffectiveBy as By, Level};
use unthrottle_analysis::model::rows::{LimitState, NoLimit, UsageSource};
use unthrottle_analysis::{Explanation, FindingVerdict, Verdict};

use super::explain::{
    Counters, Effective, EffectiveBy, Explain, Finding, FindingWord, Harm, Host, Limit, LimitKind,
    Loss, Machine, PerCpuStops, Precision, Pressure, SCHEMA, StopMethod, Stops, Target, UseWindow,
    VerdictWord, Waiting, Window,
};
use super::ms;
use super::requests::requests;
use super::{summary, words};

/// Builds the document.
#[must_use]
pub fn explain(e: &Explanation) -> Explain {
    let mut counters = e.target().map(counters);
    if let Some(counters) = &mut counters {
        counters.usage_ratio = e.usage_ratio;
    }
    Explain {
        schema: SCHEMA.to_owned(),
        target: Target {
            name: e.meta.target.name.clone(),
            cgroup: e.meta.target.path.clone(),
            hierarchy: e.meta.target.hierarchy.word().to_owned(),
            runtime: e.meta.target.runtime.clone(),
        },
        window: Window {
            start: rfc3339(e.window.start_wall_ns),
            end: rfc3339(e.window.end_wall_ns),
            seconds: e.window.seconds(),
        },
        host: Host {
            kernel: e.meta.host.kernel.clone(),
            hz: e.meta.host.hz,
            cpus_online: e.meta.host.cpus_online,
            cpus_allowed: e.meta.host.cpus_allowed,
            slice_us: e.meta.host.slice_us,
        },
        verdict: match e.verdict {
            Verdict::Throttled => VerdictWord::Throttled,
            Verdict::NotThrottled => VerdictWord::NotThrottled,
            Verdict::Contention => VerdictWord::Contention,
            Verdict::NotMeasured => VerdictWord::NotMeasured,
        },
        summary: summary::summary(e),
        limits: limits(e),
        effective: effective(e),
        counters,
        use_windows: e
            .windows
            .iter()
            .map(|window| UseWindow {
                seconds: window.seconds,
                count: window.count,
                mean_ratio: window.mean_ratio,
                max_ratio: window.max_ratio,
                over_90_percent_count: window.over_90_percent,
            })
            .collect(),
        stops: stops(e),
        requests: e.requests.as_ref().map(|rows| requests(rows, e.window.start_ns)),
        harm: harm(e),
        waiting: e.waiting.map(|waiting| Waiting {
            processes: waiting.processes,
            threads: waiting.threads,
            on_cpu_ms: ms(waiting.on_cpu_ns),
            run_delay_ms: ms(waiting.run_delay_ns),
            wait_ratio: waiting.ratio(),
        }),
        pressure: pressure(e),
        machine: e.host.map(|host| Machine {
            busy_cores: host.busy_cores,
            other_cores: host.other_cores,
            own_cores: host.own_cores,
            steal_ratio: host.steal_ratio,
            psi_some_ratio: host.psi_some_ratio,
        }),
        findings: e
            .findings
            .iter()
            .map(|finding| {
                let (message, evidence, next_step) = words::finding(e, finding);
                Finding {
                    check: finding.check.word().to_owned(),
                    verdict: match finding.verdict {
                        FindingVerdict::Accepted => FindingWord::Accepted,
                        FindingVerdict::Rejected => FindingWord::Rejected,
                        FindingVerdict::NotEnoughData => FindingWord::NotEnoughData,
                    },
                    message,
                    evidence,
                    next_step,
                }
            })
            .collect(),
        losses: e
            .losses
            .iter()
            .map(|loss| Loss {
                field: loss.field.clone(),
                reason: loss.reason.clone(),
                hint: (!loss.hint.is_empty()).then(|| loss.hint.clone()),
            })
            .collect(),
        precision: precision(e),
    }
}

/// UTC, to the millisecond; the epoch itself for a time that no calendar holds.
fn rfc3339(wall_ns: i64) -> String {
    let millis = wall_ns.div_euclid(1_000_000);
    let time = jiff::Timestamp::from_millisecond(millis).unwrap_or_default();
    format!("{time:.3}")
}

fn limits(e: &Explanation) -> Vec<Limit> {
    let cpuset = e.cpuset.iter().map(|row| Limit {
        cgroup: row.path.clone(),
        kind: LimitKind::Cpuset,
        limit_cores: Some(f64::from(row.cpus)),
        quota_us: None,
        period_us: None,
        burst_us: None,
        binding: false,
        weight: None,
        no_limit: None,
        counters: None,
    });
    e.levels.iter().map(limit).chain(cpuset).collect()
}

pub(super) fn limit(level: &Level) -> Limit {
    let (limit, no_limit) = match level.limit() {
        Some(LimitState::Limit(limit)) => (Some(limit), None),
        Some(LimitState::None(why)) => (None, Some(why)),
        None => (None, Some(NoLimit::Unreadable)),
    };
    let quota = limit.as_ref().and_then(|limit| limit.quota());
    Limit {
        cgroup: level.group.path.clone(),
        kind: LimitKind::Quota,
        limit_cores: quota.map(unthrottle_analysis::model::Quota::cores),
        quota_us: quota.map(|quota| quota.quota_us),
        period_us: quota.map(|quota| quota.period_us),
        burst_us: quota.map(|quota| quota.burst_us),
        binding: level.binding(),
        weight: level.group.weight,
        no_limit: no_limit.map(|why| {
            match why {
                NoLimit::Root => "root",
                NoLimit::ControllerOff => "controller_off",
                NoLimit::NoBandwidth => "no_bandwidth",
                NoLimit::Unreadable => "unreadable",
            }
            .to_owned()
        }),
        counters: Some(counters(level)),
    }
}

fn counters(level: &Level) -> Counters {
    let raw = &level.increase.counters;
    // Without a quota there are no periods: zeros of the file would read as "never throttled".
    let limited = level.limits.iter().any(|row| row.limit.cores().is_some());
    let periods = |value: Option<i64>| value.filter(|count| limited || *count != 0);
    let spans = |value: Option<i64>| value.filter(|ns| limited || *ns != 0).map(ms);
    Counters {
        nr_periods: periods(raw.nr_periods),
        nr_throttled: periods(raw.nr_throttled),
        throttled_ms: spans(raw.throttled_ns),
        throttled_local_ms: raw.throttled_local_ns.map(ms),
        throttle_ratio: level.throttle_ratio(),
        throttle_wall_ratio: level.throttle_wall_ratio(),
        usage_cores: level.usage_cores(),
        usage_ratio: level.usage_of_own_limit(),
        nr_bursts: periods(raw.nr_bursts),
        burst_ms: spans(raw.burst_ns),
    }
}

fn effective(e: &Explanation) -> Effective {
    let (limit_cores, by) = e.effective;
    let (by, cgroup) = match by {
        By::Quota(key) => (EffectiveBy::Quota, words::path(e, key).map(str::to_owned)),
        By::Cpuset => (EffectiveBy::Cpuset, e.cpuset.as_ref().map(|row| row.path.clone())),
        By::Cpus => (EffectiveBy::Cpus, None),
    };
    Effective { limit_cores, by, cgroup }
}

fn stops(e: &Explanation) -> Stops {
    let throttled = e.target().and_then(|level| level.increase.counters.throttled_ns);
    Stops {
        method: StopMethod::Counters,
        precision: Precision::Bounded,
        count: None,
        some_ms: None,
        full_ms: None,
        median_ms: None,
        p99_ms: None,
        max_ms: None,
        per_cpu: PerCpuStops {
            count: None,
            total_ms: throttled.map(ms),
            median_ms: None,
            max_ms: None,
        },
        coverage_ratio: None,
    }
}

/// The bound takes the level that was stopped longest: a parent's stops are the target's too.
fn harm(e: &Explanation) -> Harm {
    let bounds = e.levels.iter().filter_map(unthrottle_analysis::rank::stopped_at_most);
    Harm {
        stopped_requests: None,
        added_ms: None,
        lost_ms_per_minute: None,
        lost_ms_per_minute_at_most: bounds.fold(None, |sum: Option<f64>, each| {
            Some(sum.map_or(each, |sum| (sum + each).min(60_000.0)))
        }),
        serves_requests: None,
    }
}

fn pressure(e: &Explanation) -> Option<Pressure> {
    let target = e.target()?;
    let span_ns = target.increase.span_ns as f64;
    let share = |ns: Option<i64>| ns.filter(|_| span_ns > 0.0).map(|ns| ns as f64 / span_ns);
    let raw = &target.increase.counters;
    raw.psi_some_ns?;
    Some(Pressure { some_ratio: share(raw.psi_some_ns), full_ratio: share(raw.psi_full_ns) })
}

fn precision(e: &Explanation) -> BTreeMap<String, Precision> {
    let mut map = BTreeMap::new();
    let mut say = |pointer: &str, precision| {
        map.insert(pointer.to_owned(), precision);
    };
    say("/counters/nr_periods", Precision::Exact);
    say("/counters/nr_throttled", Precision::Exact);
    say("/counters/throttle_ratio", Precision::Exact);
    // The number of wall-clock periods in the window is known to one.
    say("/counters/throttle_wall_ratio", Precision::Bounded);
    // A stop that goes on at a reading is not in it yet.
    say("/counters/throttled_ms", Precision::Bounded);
    // A running thread's time is added at ticks and switches only.
    say("/counters/usage_cores", Precision::Bounded);
    say("/counters/usage_ratio", Precision::Bounded);
    say("/stops/per_cpu/total_ms", Precision::Bounded);
    say("/harm/lost_ms_per_minute_at_most", Precision::Bounded);
    say("/use_windows", Precision::Bounded);
    say("/machine", Precision::Bounded);
    if e.waiting.is_some() {
        say("/waiting", Precision::Bounded);
    }
    if e.requests.is_some() {
        say("/requests", Precision::Exact);
    }
    if e.target().is_some_and(|level| level.group.usage_source == UsageSource::None) {
        map.remove("/counters/usage_cores");
    }
    map
}

/// Puts a better reason in place of those given for the same field.
pub fn replace_loss(document: &mut Explain, loss: &unthrottle_analysis::model::rows::LossRow) {
    document.losses.retain(|each| each.field != loss.field);
    document.losses.push(Loss {
        field: loss.field.clone(),
        reason: loss.reason.clone(),
        hint: (!loss.hint.is_empty()).then(|| loss.hint.clone()),
    });
}

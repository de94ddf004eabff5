//! What the facts of a watch do not say, and why.

use unthrottle_model::rows::{EventKind, Hierarchy, LimitState, LossRow, NoLimit, UsageSource};

use crate::explain::{Explanation, without_counters};
use crate::machine::COVERAGE_RATIO;

/// What these facts do not say, and why.
pub fn losses(e: &Explanation) -> Vec<LossRow> {
    let mut losses = Vec::new();
    let mut add = |field: &str, reason: String, hint: &str| {
        losses.push(LossRow { field: field.to_owned(), reason, hint: hint.to_owned() });
    };
    for level in without_counters(&e.levels) {
        let path = &level.group.path;
        let why = match level.increase.went_back {
            0 => format!(
                "cpu.stat of `{path}` could not be read twice with its counters of throttling"
            ),
            _ => format!("counters of `{path}` went back, and no other interval is left"),
        };
        add("counters", why, "run as root, or see what is readable with `unthrottle doctor`");
    }
    for level in e.levels.iter().filter(|level| {
        level.limit().is_none_or(|limit| limit == LimitState::None(NoLimit::Unreadable))
    }) {
        let why = format!("the limit of `{}` could not be read", level.group.path);
        add("limits", why, "run as root, or see what is readable with `unthrottle doctor`");
    }
    if let Some(target) = e.target() {
        let limit = target.limit();
        let limited = limit.is_some_and(|limit| limit.cores().is_some());
        let unknown = limit.is_none_or(|limit| limit == LimitState::None(NoLimit::Unreadable));
        let field = "counters.throttle_ratio";
        if limited && target.increase.counters.nr_periods == Some(0) {
            let why = "no_active_period: the limit is set and its counters were read, but the group \
                       drew nothing from it in the window, so there is no period to count";
            add(field, why.to_owned(), "watch while it works, or longer with `--for`");
        } else if !limited && !unknown {
            let why = "no_limit: the group has no quota of its own, so it has no periods";
            add(field, why.to_owned(), "");
        }
        match target.group.usage_source {
            UsageSource::Threads => add(
                "counters.usage_cores",
                "the group has no cpuacct counter of its own (v1): use is the sum over its threads, \
                 without those that came and went between two readings"
                    .to_owned(),
                "",
            ),
            _ if target.increase.counters.usage_ns.is_none() => {
                add("counters.usage_cores", "the group's CPU time could not be read".to_owned(), "");
            }
            _ => {}
        }
    }
    let vanished = e
        .events
        .iter()
        .find(|event| event.group == e.target_key() && event.kind == EventKind::Vanished);
    if vanished.is_some() {
        let seconds = e.window.seconds();
        add(
            "window",
            format!(
                "the group was removed after {seconds:.1} s: what it did after its last reading is not seen"
            ),
            "",
        );
    }
    if e.target().is_some_and(|target| target.increase.counters.psi_some_ns.is_none()) {
        let why = match e.meta.target.hierarchy {
            Hierarchy::V1Cpu => "groups of cgroup v1 have no pressure (PSI) of their own",
            Hierarchy::V2 => "the group's cpu.pressure could not be read",
        };
        let hint = match e.meta.target.hierarchy {
            Hierarchy::V1Cpu => "",
            Hierarchy::V2 => "boot with `psi=1`, on a kernel with CONFIG_PSI",
        };
        add("pressure", why.to_owned(), hint);
    }
    if e.host.is_some_and(|host| host.psi_some_ratio.is_none()) {
        let why = "/proc/pressure/cpu could not be read".to_owned();
        add("machine.psi_some_ratio", why, "boot with `psi=1`, on a kernel with CONFIG_PSI");
    }
    if e.host.is_none() {
        add("machine", "/proc/stat could not be read at both ends of the watch".to_owned(), "");
    }
    if e.too_short() && !e.throttled() {
        let why = "the window is shorter than two periods of the limit: a stop counts only when a \
                   period ends";
        add("verdict", why.to_owned(), "watch longer with `--for`");
    }
    if let Some(share) = e.thread_coverage().filter(|share| *share > 1.5) {
        let why = format!(
            "the threads used {share:.1} times what the group's counter says: some of them are \
             elsewhere in the cpuacct hierarchy, and its use is higher than shown"
        );
        add("counters.usage_cores", why, "");
    }
    if let Some(share) = e.thread_coverage().filter(|share| *share < COVERAGE_RATIO) {
        let why = format!(
            "the threads that could be read used {:.0} % of the group's CPU time; the others came and \
             went between two readings, and whether they waited is not known",
            share * 100.0
        );
        add("findings.contention", why, "");
    }
    if e.waiting.is_none_or(|waiting| waiting.unread > 0) {
        add(
            "findings.contention",
            "not all of the target's threads could be read".to_owned(),
            "run as root; the kernel needs SCHED_INFO for /proc/PID/schedstat",
        );
    }
    add(
        "stops",
        "counters do not tell single stops: nr_throttled counts periods and throttled time is a sum \
         over CPUs, so count, median and longest are not known"
            .to_owned(),
        "",
    );
    if e.requests.is_none() {
        add(
            "requests",
            "requests are not seen from outside without the load generator's rows".to_owned(),
            "load it with `unthrottle lab load URL --requests FILE` and add `--requests FILE`",
        );
    }
    add("harm", "which requests a stop hit, and for how long, needs single stops".to_owned(), "");
    losses
}

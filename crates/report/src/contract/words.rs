//! The sentences about findings.

use unthrottle_analysis::findings::CONTENTION;
use unthrottle_analysis::level::Level;
use unthrottle_analysis::machine::{COVERAGE_RATIO, DISTURBED_CORES};
use unthrottle_analysis::model::rows::{GroupKey, Hierarchy, LimitState, NoLimit};
use unthrottle_analysis::{Check, Explanation, Finding, FindingVerdict};

use super::summary::{limit_of, periods};
use crate::text::{cores, many, percent};

/// Path of a level.
pub fn path(e: &Explanation, key: GroupKey) -> Option<&str> {
    e.levels.iter().find(|level| level.group.group == key).map(|level| level.group.path.as_str())
}

/// What a level is called: the target by its name, the others by their paths.
fn whose(e: &Explanation, key: GroupKey) -> &str {
    if key == e.target_key() { &e.meta.target.name } else { path(e, key).unwrap_or("?") }
}

fn level(e: &Explanation, key: GroupKey) -> Option<&Level> {
    e.levels.iter().find(|level| level.group.group == key)
}

/// Message, evidence and next step of a finding.
pub fn finding(e: &Explanation, finding: &Finding) -> (String, Vec<String>, Option<String>) {
    let accepted = finding.verdict == FindingVerdict::Accepted;
    let unknown = finding.verdict == FindingVerdict::NotEnoughData;
    let at = |key: &GroupKey| whose(e, *key).to_owned();
    match &finding.check {
        Check::Quota => quota(e, accepted, unknown),
        Check::ParentLimit => parent(e, accepted),
        Check::LimitedBelow => limited_below(e, accepted),
        Check::HiddenLimit => hidden(e, accepted),
        Check::Contention => contention(e, accepted, unknown),
        Check::Steal => {
            let evidence =
                e.host.map(|h| format!("steal {} of all CPU time", percent(h.steal_ratio)));
            let message = pick(
                unknown,
                accepted,
                "steal could not be read",
                "the hypervisor took CPU time away",
                "the hypervisor took no CPU time worth mention",
            );
            let next = accepted.then(|| "ask for a host with less contention".to_owned());
            (message, evidence.into_iter().collect(), next)
        }
        Check::OtherLoad => {
            let evidence = e.host.and_then(|host| host.other_cores).map(|other| {
                format!("others used {} of {} CPUs", cores(other), e.meta.host.cpus_online)
            });
            let message = pick(
                unknown,
                accepted,
                "the load of others could not be told from the target's",
                "others kept CPUs of this machine busy meanwhile",
                "nothing else kept this machine busy",
            );
            (message, evidence.into_iter().collect(), None)
        }
        Check::Burst(key) => burst(e, *key, accepted),
        Check::UsageAboveQuota(key, checked) => {
            let message = if accepted {
                format!(
                    "`{}` used more than its limit allows: these inputs contradict each other",
                    at(key)
                )
            } else {
                format!("`{}` used no more than quota x periods + burst + slack", at(key))
            };
            let evidence = vec![format!(
                "used {:.1} ms, at most {:.1} ms can be had",
                checked.value_ns as f64 / 1e6,
                checked.bound_ns as f64 / 1e6
            )];
            let next = accepted.then(|| {
                "check that limit and counters are of the same group; on 6.18 and later long system \
                 calls may run up debt"
                    .to_owned()
            });
            (message, evidence, next)
        }
        Check::ThrottledAboveUsage(key, checked) => {
            let message = if accepted {
                format!(
                    "more periods of `{}` count as throttled than its use can have filled: these \
                     inputs contradict each other",
                    at(key)
                )
            } else {
                format!("the throttled periods of `{}` fit its use", at(key))
            };
            let evidence = vec![format!(
                "throttled periods (but one at the edge) x quota = {:.1} ms, used {:.1} ms with slack",
                checked.value_ns as f64 / 1e6,
                checked.bound_ns as f64 / 1e6
            )];
            let next = accepted
                .then(|| "check the kernel for the slice-expiry fault (before 5.4)".to_owned());
            (message, evidence, next)
        }
        Check::LimitChanged(key, from, to) => (
            format!("the limit of `{}` changed while it was watched", at(key)),
            vec![format!("from {} to {}", show_limit(from), show_limit(to))],
            Some("each part was judged by its own limit; watch again for one answer".to_owned()),
        ),
        Check::Restarted(key) => (
            format!("`{}` was removed and made anew while it was watched", at(key)),
            vec!["another inode stands at its path".to_owned()],
            Some("the interval of the restart is left out of all increases".to_owned()),
        ),
        Check::Vanished(key) => (
            format!("`{}` was removed while it was watched", at(key)),
            vec![format!("last read {:.1} s after the begin", e.window.seconds())],
            None,
        ),
        Check::CounterWentBack(key) => (
            format!("counters of `{}` went back", at(key)),
            level(e, *key)
                .map(|level| format!("{} interval(s) left out", level.increase.went_back))
                .into_iter()
                .collect(),
            None,
        ),
        Check::GeneratorLate => generator(e, accepted),
        Check::Disturbed => {
            let message = pick(
                unknown,
                accepted,
                "whether others disturbed this run could not be told",
                "this run was disturbed: its latencies are not the service's alone",
                "nothing disturbed this run",
            );
            let evidence = e.host.map(|host| {
                format!(
                    "others used {}, steal {}",
                    host.other_cores.map_or_else(|| "?".to_owned(), cores),
                    percent(host.steal_ratio)
                )
            });
            let next = accepted.then(|| "repeat it on a quiet machine".to_owned());
            (message, evidence.into_iter().collect(), next)
        }
    }
}

fn pick(unknown: bool, accepted: bool, none: &str, yes: &str, no: &str) -> String {
    if unknown {
        none.to_owned()
    } else if accepted {
        yes.to_owned()
    } else {
        no.to_owned()
    }
}

fn show_limit(state: &LimitState) -> String {
    match state {
        LimitState::Limit(limit) => match limit.quota() {
            Some(q) => format!("{} ({} us per {} us)", cores(q.cores()), q.quota_us, q.period_us),
            None => "none".to_owned(),
        },
        LimitState::None(NoLimit::Unreadable) => "unreadable".to_owned(),
        LimitState::None(_) => "none".to_owned(),
    }
}

fn quota(e: &Explanation, accepted: bool, unknown: bool) -> (String, Vec<String>, Option<String>) {
    let mut evidence = Vec::new();
    for level in e.levels.iter().filter(|level| level.last_quota_cores().is_some()) {
        let throttled_ms = level
            .increase
            .counters
            .throttled_ns
            .map(|ns| format!(", stopped {:.0} ms summed over CPUs", ns as f64 / 1e6));
        evidence.push(format!(
            "`{}` ({}): {} throttled{}",
            whose(e, level.group.group),
            limit_of(level),
            periods(level),
            throttled_ms.unwrap_or_default()
        ));
    }
    let message = pick(
        unknown,
        accepted,
        "whether a CPU quota stopped the target could not be read",
        "a CPU quota stopped the target",
        "no CPU quota stopped the target",
    );
    (message, evidence, accepted.then(|| raise(e)))
}

/// How to test the hypothesis: double the limit that binds, and look again.
fn raise(e: &Explanation) -> String {
    // v1 refuses a child above its parent: what binds highest is raised first.
    let binding = e.levels.iter().find(|level| level.binding());
    let Some(binding) = binding else {
        return "run on the host to see the level that binds".to_owned();
    };
    let twice = binding.last_quota_cores().map_or(1.0, |limit| limit * 2.0);
    let own = binding.group.group == e.target_key();
    let again = format!("and run `unthrottle explain {}` again", e.meta.target.asked);
    match e.meta.target.runtime.as_deref() {
        Some("docker" | "podman") if own => {
            let (runtime, id) = e.meta.target.name.split_once(':').unwrap_or(("docker", ""));
            format!("test it: `{runtime} update --cpus {twice} {id}` doubles the limit; {again}")
        }
        Some("container") if own => format!(
            "test it: double its limit, with Docker `docker update --cpus {twice} {}`; {again}",
            e.meta.target.name.split_once(':').map_or("ID", |(_, id)| id)
        ),
        Some("systemd-service" | "systemd-scope" | "systemd-slice") if own => format!(
            "test it: `systemctl set-property --runtime {} CPUQuota={:.0}%` doubles the limit; {again}",
            binding.group.path.rsplit('/').next().unwrap_or(""),
            twice * 100.0
        ),
        _ => format!(
            "test it: double the limit of `{}` to {} {again}",
            whose(e, binding.group.group),
            cores(twice)
        ),
    }
}

fn parent(e: &Explanation, accepted: bool) -> (String, Vec<String>, Option<String>) {
    let parents: Vec<&str> =
        e.binding().filter(|key| *key != e.target_key()).filter_map(|key| path(e, key)).collect();
    if accepted {
        let own = e.binding().any(|key| key == e.target_key());
        let next = if own {
            "raise the limits from the top down: the target's own alone changes little"
        } else {
            "raise the limit there; the target's own limit alone changes nothing"
        };
        let next = next.to_owned();
        (
            format!("a level above the target stopped it: `{}`", parents.join("`, `")),
            vec!["its own nr_throttled rose in the window".to_owned()],
            Some(next),
        )
    } else {
        ("no level above the target stopped it".to_owned(), Vec::new(), None)
    }
}

fn limited_below(e: &Explanation, accepted: bool) -> (String, Vec<String>, Option<String>) {
    let stopped: Vec<&Level> = e.below.iter().filter(|level| level.binding()).collect();
    let Some(worst) = stopped.iter().max_by_key(|level| level.increase.counters.nr_throttled)
    else {
        let count = e.below.len();
        return (format!("none of {count} groups below with limits was stopped"), Vec::new(), None);
    };
    let evidence =
        vec![format!("`{}` ({}): {} throttled", worst.group.path, limit_of(worst), periods(worst))];
    let next = format!("run `unthrottle explain 'cgroup:{}'`", worst.group.path);
    let message =
        format!("{} of {} groups below with limits stopped", stopped.len(), e.below.len());
    (message, evidence, accepted.then_some(next))
}

fn hidden(e: &Explanation, accepted: bool) -> (String, Vec<String>, Option<String>) {
    let local = e.target().and_then(|target| target.increase.counters.throttled_local_ns);
    let evidence = local.map(|ns| format!("cpu.stat.local rose by {:.1} ms", ns as f64 / 1e6));
    let message = if accepted {
        "a level that is not visible from here stopped the target"
    } else if e.hidden_stop_suspected() {
        "threads waited beside idle CPUs: a level that is not visible from here may have stopped \
         them; this kernel has no cpu.stat.local to tell"
    } else if local.is_none() {
        "levels above are not visible from here, and this kernel has no cpu.stat.local to tell"
    } else {
        "levels above are not visible from here; none of them is seen to have stopped the target"
    };
    let next = (accepted || e.hidden_stop_suspected())
        .then(|| "run on the host, or use `--root DIR` with its /proc and /sys".to_owned());
    (message.to_owned(), evidence.into_iter().collect(), next)
}

fn contention(
    e: &Explanation,
    accepted: bool,
    unknown: bool,
) -> (String, Vec<String>, Option<String>) {
    let evidence = e.waiting.map(|waiting| {
        format!(
            "{} used {:.0} ms of CPU and waited runnable for {:.0} ms{}",
            many(waiting.threads, "thread"),
            waiting.on_cpu_ns as f64 / 1e6,
            waiting.run_delay_ns as f64 / 1e6,
            waiting.ratio().map_or_else(String::new, |ratio| format!(
                " ({} of what they wanted; contention begins at {})",
                percent(ratio),
                percent(CONTENTION)
            ))
        )
    });
    // A low weight is why a neighbour comes first.
    let weight = e.target().and_then(|target| target.group.weight);
    let (file, usual) = match e.meta.target.hierarchy {
        Hierarchy::V1Cpu => ("cpu.shares", 1024),
        Hierarchy::V2 => ("cpu.weight", 100),
    };
    let weight = weight
        .filter(|weight| accepted && *weight < usual)
        .map(|weight| format!("its {file} is {weight} (usually {usual})"));
    let others =
        e.host.and_then(|host| host.other_cores).is_some_and(|cores| cores > DISTURBED_CORES);
    let message = match (unknown, accepted, e.throttled()) {
        (_, true, _) if others => "the target's threads waited for CPUs that others used",
        (_, true, _) if e.waited_beside_idle_cpus() => {
            "the target's threads waited although CPUs were idle"
        }
        (_, true, _) => "the target's own threads wanted more CPUs than there are",
        (true, _, true) => {
            "waiting for a CPU cannot be told from stops while a quota stops the target"
        }
        (true, _, false) if e.throttled_below() => {
            "waiting for a CPU cannot be told from stops of the groups below"
        }
        (true, _, false) if e.too_short() => "the window is too short to tell",
        (true, _, false) if e.hidden_stop_suspected() => {
            "waiting for a CPU cannot be told from stops by a hidden level"
        }
        (true, _, false) if e.thread_coverage().is_some_and(|share| share < COVERAGE_RATIO) => {
            "most of the target's threads came and went unseen: whether they waited is not known"
        }
        (true, _, false) => "the target's threads could not be read",
        _ if e.waiting.and_then(|waiting| waiting.ratio()).is_some_and(|r| r >= CONTENTION) => {
            "the target hardly wanted a CPU, so that its waiting decides nothing"
        }
        _ => "the target's threads got a CPU when they wanted one",
    };
    let next = accepted.then(|| {
        if e.waited_beside_idle_cpus() {
            "threads that wake one another wait on the same CPU; look also at its CPU affinity, and at the \
             hypervisor, which may take time without reporting it"
        } else if others {
            "look for the neighbour that uses the CPUs (with the system's own `top`), give the target more \
             weight, or move it"
        } else {
            "it needs more CPUs, or fewer threads at once"
        }
        .to_owned()
    });
    (message.to_owned(), evidence.into_iter().chain(weight).collect(), next)
}

fn burst(e: &Explanation, key: GroupKey, accepted: bool) -> (String, Vec<String>, Option<String>) {
    let counters = level(e, key).map(|level| level.increase.counters).unwrap_or_default();
    let name = whose(e, key);
    let message = if accepted {
        format!("`{name}` drew saved-up time beyond its quota (burst)")
    } else {
        format!("`{name}` has burst, and drew none")
    };
    let evidence = vec![format!(
        "{} periods, {:.1} ms",
        counters.nr_bursts.unwrap_or(0),
        counters.burst_ns.unwrap_or(0) as f64 / 1e6
    )];
    (message, evidence, None)
}

fn generator(e: &Explanation, accepted: bool) -> (String, Vec<String>, Option<String>) {
    let lateness = e.requests.as_ref().and_then(|requests| requests.lateness);
    let evidence = lateness.map(|late| {
        format!(
            "lateness p50 {:.3} ms, p99 {:.3} ms, max {:.1} ms",
            late.p50_ns as f64 / 1e6,
            late.p99_ns as f64 / 1e6,
            late.max_ns as f64 / 1e6
        )
    });
    let message = if accepted {
        "the load generator did not keep its schedule: its latencies are not the service's alone"
    } else {
        "the load generator kept its schedule"
    };
    let next = accepted.then(|| {
        "run the generator (`lab load`) as root for real-time priority, or on another machine"
            .to_owned()
    });
    (message.to_owned(), evidence.into_iter().collect(), next)
}

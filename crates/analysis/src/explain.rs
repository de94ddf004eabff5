//! The main question: is it the CPU quota, and how much?

use unthrottle_model::recording::{Meta, Recording};
use unthrottle_model::rows::{
    ClockRow, CpusetRow, EventKind, EventRow, GroupKey, Hierarchy, LimitState, LossRow, NoLimit,
    UsageSource,
};

use crate::findings::{Finding, findings};
use crate::latency::Requests;
use crate::level::{EffectiveBy, Level, below, effective, levels, samples_of};
use crate::machine::{
    CONTENTION_RATIO, COVERAGE_RATIO, DISTURBED_CORES, DISTURBED_STEAL, HostUse, Waiting, host_use,
    waiting,
};
use crate::windows::{UseWindows, use_windows};

/// The answer in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// nr_throttled rose at some level. How bad that is, is the business of harm.
    Throttled,
    /// Counters were read, and nothing was stopped.
    NotThrottled,
    /// Not throttled, and the target's threads waited for CPUs that others used.
    Contention,
    /// The counters could not be read.
    NotMeasured,
}

/// The stretch of time that was watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Time of the target's first reading, ns of `CLOCK_MONOTONIC`.
    pub start_ns: i64,
    /// Time of its last reading.
    pub end_ns: i64,
    /// The first as wall-clock time, ns since 1970.
    pub start_wall_ns: i64,
    /// The last as wall-clock time.
    pub end_wall_ns: i64,
}

impl Window {
    /// Length, s.
    #[must_use]
    pub fn seconds(&self) -> f64 {
        (self.end_ns - self.start_ns) as f64 / 1e9
    }
}

/// Everything that is known about one watch.
#[derive(Debug, Clone, PartialEq)]
pub struct Explanation {
    /// Machine and target.
    pub meta: Meta,
    /// When.
    pub window: Window,
    /// The answer.
    pub verdict: Verdict,
    /// Every level, root first; the target is the last.
    pub levels: Vec<Level>,
    /// Groups below the target that have a limit of their own.
    pub below: Vec<Level>,
    /// CPUs that the target may run on, as last seen.
    pub cpuset: Option<CpusetRow>,
    /// The smallest of all limits, in cores, and what it comes from.
    pub effective: (f64, EffectiveBy),
    /// Mean use of the effective limit.
    pub usage_ratio: Option<f64>,
    /// Use in windows of about 1 s and over the whole watch.
    pub windows: Vec<UseWindows>,
    /// The machine.
    pub host: Option<HostUse>,
    /// The target's threads.
    pub waiting: Option<Waiting>,
    /// Requests, where the load generator's rows are there.
    pub requests: Option<Requests>,
    /// Hypotheses with their verdicts.
    pub findings: Vec<Finding>,
    /// What happened to the groups.
    pub events: Vec<EventRow>,
    /// What could not be measured.
    pub losses: Vec<LossRow>,
}

impl Explanation {
    /// The target's level.
    #[must_use]
    pub fn target(&self) -> Option<&Level> {
        self.levels.last()
    }

    /// The target's key.
    #[must_use]
    pub fn target_key(&self) -> GroupKey {
        self.meta.target.group
    }

    /// Keys of the levels whose nr_throttled rose.
    pub fn binding(&self) -> impl Iterator<Item = GroupKey> {
        self.levels.iter().filter(|level| level.binding()).map(|level| level.group.group)
    }

    /// Whether any level, seen or hidden, stopped the target.
    #[must_use]
    pub fn throttled(&self) -> bool {
        self.binding().next().is_some() || self.hidden_stop()
    }

    /// Whether a level that is not visible stopped the target.
    #[must_use]
    pub fn hidden_stop(&self) -> bool {
        hidden_stop(&self.meta, &self.levels)
    }

    /// Whether a limit is set whose counters could not be read, or nothing could be read at all.
    #[must_use]
    pub fn counters_unreadable(&self) -> bool {
        unreadable(&self.levels)
    }

    /// Whether the target's threads waited for CPUs; `None` if it cannot be told: while a quota
    /// stops them, waiting is the quota's.
    #[must_use]
    pub fn contended(&self) -> Option<bool> {
        let stopped = self.throttled() || self.throttled_below() || self.hidden_stop_suspected();
        if stopped || self.counters_unreadable() || self.too_short() || !self.threads_cover_use() {
            return None;
        }
        contended(self.waiting.as_ref()?, self.window)
    }

    /// Whether a limited group below the target was stopped.
    #[must_use]
    pub fn throttled_below(&self) -> bool {
        self.below.iter().any(Level::binding)
    }

    /// Whether too little was seen of some limit to say that it stopped nobody: threads are there, but
    /// the window is shorter than two periods and fewer ended in it. A stop counts only when a period
    /// ends, and its time (also that of a thread's waiting) only when it is over.
    #[must_use]
    pub fn too_short(&self) -> bool {
        let threads = self.waiting.is_none_or(|waiting| waiting.threads > 0);
        let unseen = |level: &Level| {
            let quotas = level.limits.iter().filter_map(|row| match row.limit {
                LimitState::Limit(limit) => limit.quota().map(|quota| quota.period_us),
                LimitState::None(_) => None,
            });
            let ended = level.increase.counters.nr_periods.unwrap_or(0);
            let window_us = self.window.seconds() * 1e6;
            quotas.max().is_some_and(|us| ended < 2 && window_us < 2.0 * us as f64)
        };
        threads && self.levels.iter().any(unseen)
    }

    /// Share of the group's CPU time that its threads account for; `None` if either is unknown.
    #[must_use]
    pub fn thread_coverage(&self) -> Option<f64> {
        let used_ns = self.target()?.increase.counters.usage_ns.filter(|ns| *ns > 0)?;
        Some(self.waiting?.on_cpu_ns as f64 / used_ns as f64)
    }

    fn threads_cover_use(&self) -> bool {
        self.thread_coverage().is_none_or(|share| share >= COVERAGE_RATIO)
    }

    /// Whether the target's threads waited although neither they nor others kept the CPUs busy:
    /// then it was for something else than a CPU, such as a quota.
    #[must_use]
    pub fn waited_beside_idle_cpus(&self) -> bool {
        let waited = self.waiting.and_then(|waiting| contended(&waiting, self.window));
        let used = self.target().and_then(Level::usage_cores);
        let others = self.host.and_then(|host| host.other_cores);
        waited == Some(true)
            && used.is_some_and(|cores| cores < 0.9 * self.effective.0)
            && others.is_some_and(|cores| cores <= DISTURBED_CORES)
    }

    /// Whether a hidden level may have stopped the target, on a kernel that does not count it.
    #[must_use]
    pub fn hidden_stop_suspected(&self) -> bool {
        let local = self.target().and_then(|level| level.increase.counters.throttled_local_ns);
        self.meta.target.levels_hidden
            && local.is_none()
            && self.binding().next().is_none()
            && self.waited_beside_idle_cpus()
    }

    /// Whether steal or other load disturbed a run of ours; `None` if it cannot be told.
    #[must_use]
    pub fn disturbed(&self) -> Option<bool> {
        let host = self.host?;
        Some(host.steal_ratio > DISTURBED_STEAL || host.other_cores? > DISTURBED_CORES)
    }
}

/// Stops that no visible level can have made: the own file of stops by any level rose, and none of
/// the visible levels' own stop times did.
fn hidden_stop(meta: &Meta, levels: &[Level]) -> bool {
    let local = levels.last().and_then(|level| level.increase.counters.throttled_local_ns);
    let visible =
        levels.iter().any(|level| level.increase.counters.throttled_ns.is_some_and(|ns| ns > 0));
    meta.target.levels_hidden && local.is_some_and(|ns| ns > 0) && !visible
}

fn unreadable(levels: &[Level]) -> bool {
    levels.last().is_none_or(|target| target.increase.span_ns == 0)
        || without_counters(levels).next().is_some()
}

/// Levels whose limit may have stopped the target, and whose counters do not say whether it did.
fn without_counters(levels: &[Level]) -> impl Iterator<Item = &Level> {
    let limited = levels.iter().filter(|level| {
        level.limits.iter().any(|row| {
            row.limit.cores().is_some() || row.limit == LimitState::None(NoLimit::Unreadable)
        })
    });
    limited.filter(|level| level.increase.counters.nr_throttled.is_none())
}

/// A target that wanted less than a hundredth of a core is not contended, whatever its ratio: one
/// late wake-up would do.
fn contended(waiting: &Waiting, window: Window) -> Option<bool> {
    let wanted_ns = waiting.on_cpu_ns + waiting.run_delay_ns;
    let enough = wanted_ns as f64 >= 0.01 * (window.end_ns - window.start_ns) as f64;
    Some(enough && waiting.ratio().is_some_and(|ratio| ratio >= CONTENTION_RATIO))
}

/// Turns a recording into facts.
#[must_use]
pub fn explain(recording: &Recording) -> Explanation {
    let meta = recording.meta.clone();
    let mut levels = levels(recording);
    let waiting = waiting(recording);
    let window = window(recording);
    if let (Some(target), Some(waiting)) = (levels.last_mut(), &waiting)
        && target.group.usage_source == UsageSource::Threads
    {
        target.increase.counters.usage_ns = Some(waiting.on_cpu_ns);
    }
    let cpuset = recording.rows.cpusets.last().cloned();
    let cpus = cpuset.as_ref().map(|row| row.cpus);
    let windows = use_windows(recording, &levels, cpus);
    let effective = effective(&levels, cpus, meta.host.cpus_online, None);
    let usage_cores = levels.last().and_then(Level::usage_cores);
    let usage_ratio = windows
        .last()
        .map(|whole| whole.mean_ratio)
        .or_else(|| usage_cores.map(|cores| cores / effective.0));
    let mut explanation = Explanation {
        host: host_use(recording, usage_cores),
        requests: Requests::of(&recording.rows.requests, window.start_ns, window.end_ns),
        window,
        verdict: Verdict::NotThrottled,
        levels,
        below: below(recording),
        cpuset,
        effective,
        usage_ratio,
        windows,
        waiting,
        findings: Vec::new(),
        events: recording.rows.events.clone(),
        losses: recording.rows.losses.clone(),
        meta,
    };
    explanation.verdict = verdict(&explanation);
    explanation.findings = findings(&explanation);
    explanation.losses.extend(losses(&explanation));
    explanation
}

fn verdict(e: &Explanation) -> Verdict {
    if e.throttled() {
        Verdict::Throttled
    } else if e.counters_unreadable() || e.hidden_stop_suspected() || e.too_short() {
        Verdict::NotMeasured
    } else if e.contended() == Some(true) {
        Verdict::Contention
    } else {
        Verdict::NotThrottled
    }
}

fn window(recording: &Recording) -> Window {
    let samples = samples_of(recording, recording.meta.target.group);
    let clock = &recording.rows.clock;
    let start_ns = samples.first().map_or(0, |row| row.time_ns);
    let end_ns = samples.last().map_or(start_ns, |row| row.time_ns);
    let wall = |time_ns: i64| {
        let before = clock.iter().rev().find(|row| row.monotonic_ns <= time_ns);
        let ClockRow { monotonic_ns, realtime_ns } = before
            .or(clock.first())
            .copied()
            .unwrap_or(ClockRow { monotonic_ns: 0, realtime_ns: 0 });
        realtime_ns + (time_ns - monotonic_ns)
    };
    Window { start_ns, end_ns, start_wall_ns: wall(start_ns), end_wall_ns: wall(end_ns) }
}

/// What these facts do not say, and why.
fn losses(e: &Explanation) -> Vec<LossRow> {
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

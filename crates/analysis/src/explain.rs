//! The main question: is it the CPU quota, and how much?

use unthrottle_model::recording::{Meta, Recording};
use unthrottle_model::rows::{
    ClockRow, CpusetRow, EventRow, GroupKey, LimitState, LossRow, NoLimit, UsageSource,
};

use crate::findings::{Finding, findings};
use crate::latency::Requests;
use crate::level::{EffectiveBy, Level, below, effective, levels, samples_of};
use crate::losses::losses;
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
pub(crate) fn without_counters(levels: &[Level]) -> impl Iterator<Item = &Level> {
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

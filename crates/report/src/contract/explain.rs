//! `explain`, version 1.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::requests::Requests;

/// Value of the field `schema`.
pub const SCHEMA: &str = "unthrottle.explain/v1";

/// What was watched, what came out, and what it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Explain {
    /// Always `unthrottle.explain/v1`.
    pub schema: String,
    /// What was watched.
    pub target: Target,
    /// When.
    pub window: Window,
    /// The machine.
    pub host: Host,
    /// The answer.
    pub verdict: VerdictWord,
    /// The answer in one sentence.
    pub summary: String,
    /// Every level from the root to the target, then its cpuset.
    pub limits: Vec<Limit>,
    /// The smallest of all limits.
    pub effective: Effective,
    /// Increases of the target's own counters over the window; `usage_ratio` is of the effective
    /// limit.
    pub counters: Option<Counters>,
    /// Use of the effective limit in windows of different length.
    pub use_windows: Vec<UseWindow>,
    /// Stops. With method `counters` single stops are not known.
    pub stops: Stops,
    /// Requests as the load generator saw them.
    pub requests: Option<Requests>,
    /// What the stops did.
    pub harm: Harm,
    /// Waiting of the target's threads.
    pub waiting: Option<Waiting>,
    /// Pressure (PSI) of the target's group, as shares of the window.
    pub pressure: Option<Pressure>,
    /// What the machine did meanwhile.
    pub machine: Option<Machine>,
    /// Hypotheses, each checked.
    pub findings: Vec<Finding>,
    /// What was not measured, and why.
    pub losses: Vec<Loss>,
    /// How far a number may be trusted, by JSON pointer.
    pub precision: BTreeMap<String, Precision>,
}

/// What was watched.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// Its path in the hierarchy.
    pub cgroup: String,
    /// `v1:cpu` or `v2`.
    pub hierarchy: String,
    /// What runs it, if its path says.
    pub runtime: Option<String>,
}

/// When.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Window {
    /// First reading, RFC 3339.
    pub start: String,
    /// Last reading, RFC 3339.
    pub end: String,
    /// Between them, s.
    pub seconds: f64,
}

/// The machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Host {
    /// `uname -r`.
    pub kernel: String,
    /// Ticks a second.
    pub hz: Option<u32>,
    /// CPUs online.
    pub cpus_online: u32,
    /// CPUs that this program itself may run on.
    pub cpus_allowed: Option<u32>,
    /// What a CPU draws from the pool at once, us.
    pub slice_us: Option<u64>,
}

/// The answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerdictWord {
    /// nr_throttled rose at some level.
    Throttled,
    /// It did not, and it was read.
    NotThrottled,
    /// It did not, and the threads waited for CPUs that others used.
    Contention,
    /// The counters could not be read.
    NotMeasured,
}

/// One level.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Limit {
    /// Its path.
    pub cgroup: String,
    /// A quota stops; a cpuset only narrows.
    pub kind: LimitKind,
    /// In cores; null = unlimited.
    pub limit_cores: Option<f64>,
    /// CPU time per period, us.
    pub quota_us: Option<u64>,
    /// The period, us.
    pub period_us: Option<u64>,
    /// What may be saved up, us.
    pub burst_us: Option<u64>,
    /// Whether its nr_throttled rose in the window.
    pub binding: bool,
    /// Its share of busy CPUs: `cpu.shares` on v1 (usually 1024), `cpu.weight` on v2 (usually 100).
    pub weight: Option<u64>,
    /// Why no limit can be read here: `root`, `controller_off`, `no_bandwidth`, `unreadable`.
    pub no_limit: Option<String>,
    /// Increases over the window; here `usage_ratio` is of the level's own limit.
    pub counters: Option<Counters>,
}

/// What kind of limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LimitKind {
    /// CPU time per period.
    Quota,
    /// A set of CPUs.
    Cpuset,
}

/// The smallest limit.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Effective {
    /// In cores.
    pub limit_cores: f64,
    /// What it comes from.
    pub by: EffectiveBy,
    /// The level, for a quota.
    pub cgroup: Option<String>,
}

/// What the effective limit comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EffectiveBy {
    /// A quota.
    Quota,
    /// The cpuset.
    Cpuset,
    /// The number of CPUs online.
    Cpus,
}

/// Increases over the window.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Counters {
    /// Expirations of the period timer.
    pub nr_periods: Option<i64>,
    /// Those at which some CPU's queue of the group was stopped.
    pub nr_throttled: Option<i64>,
    /// Finished stops, summed over CPUs. Not wall time.
    pub throttled_ms: Option<f64>,
    /// The same for stops by this or any level above (6.6+).
    pub throttled_local_ms: Option<f64>,
    /// nr_throttled / nr_periods.
    pub throttle_ratio: Option<f64>,
    /// nr_throttled / periods of the wall clock.
    pub throttle_wall_ratio: Option<f64>,
    /// Mean use, cores.
    pub usage_cores: Option<f64>,
    /// Mean use of the limit.
    pub usage_ratio: Option<f64>,
    /// Periods in which burst was drawn.
    pub nr_bursts: Option<i64>,
    /// CPU time drawn beyond the quota, ms.
    pub burst_ms: Option<f64>,
}

/// Use of the effective limit in windows of one length.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct UseWindow {
    /// Length, s.
    pub seconds: f64,
    /// How many.
    pub count: usize,
    /// Mean over all.
    pub mean_ratio: f64,
    /// The highest.
    pub max_ratio: f64,
    /// How many with 0.9 or more.
    pub over_90_percent_count: usize,
}

/// Stops.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Stops {
    /// Where they come from.
    pub method: StopMethod,
    /// Of the numbers here.
    pub precision: Precision,
    /// How many.
    pub count: Option<i64>,
    /// Wall-clock time with some thread held, ms.
    pub some_ms: Option<f64>,
    /// Wall-clock time with some thread held and none running, ms.
    pub full_ms: Option<f64>,
    /// Median length, ms.
    pub median_ms: Option<f64>,
    /// 99th percentile, ms.
    pub p99_ms: Option<f64>,
    /// Longest, ms.
    pub max_ms: Option<f64>,
    /// The same per (group, CPU).
    pub per_cpu: PerCpuStops,
    /// Share of the window that was seen.
    pub coverage_ratio: Option<f64>,
}

/// Where stops come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StopMethod {
    /// BPF on the return of the kernel's own function.
    Fexit,
    /// BPF on a kprobe.
    Kprobe,
    /// BPF on tracepoints.
    Tracepoint,
    /// Reads locked to the group's periods.
    Sampler,
    /// Counters alone.
    Counters,
}

/// Stops of one group's queue on one CPU.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PerCpuStops {
    /// How many.
    pub count: Option<i64>,
    /// Their sum, ms: what throttled_usec counts.
    pub total_ms: Option<f64>,
    /// Median length, ms.
    pub median_ms: Option<f64>,
    /// Longest, ms.
    pub max_ms: Option<f64>,
}

/// What the stops did.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Harm {
    /// Requests that met a stop.
    pub stopped_requests: Option<usize>,
    /// Time added to them, ms.
    pub added_ms: Option<f64>,
    /// Wall-clock time a minute with some thread held, ms.
    pub lost_ms_per_minute: Option<f64>,
    /// At most this much of it, from the counters: the sum over CPUs cannot be less.
    pub lost_ms_per_minute_at_most: Option<f64>,
    /// Whether the group serves requests.
    pub serves_requests: Option<bool>,
}

/// Waiting of the target's threads.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Waiting {
    /// Processes at the end.
    pub processes: u32,
    /// Threads at the end.
    pub threads: u32,
    /// CPU time they used, ms.
    pub on_cpu_ms: f64,
    /// Time they were runnable and not running, ms; stops are in it.
    pub run_delay_ms: f64,
    /// run_delay / (on_cpu + run_delay).
    pub wait_ratio: Option<f64>,
}

/// PSI.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Pressure {
    /// Share of the window with some thread waiting for a CPU.
    pub some_ratio: Option<f64>,
    /// Share with some waiting and none running; contains stops.
    pub full_ratio: Option<f64>,
}

/// What the machine did.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Machine {
    /// Cores busy with anything.
    pub busy_cores: f64,
    /// Cores used by neither the target nor this program.
    pub other_cores: Option<f64>,
    /// Cores used by this program (the load generator is part of it).
    pub own_cores: f64,
    /// Share of CPU time taken by the hypervisor.
    pub steal_ratio: f64,
    /// PSI `some` of the host as a share of the window.
    pub psi_some_ratio: Option<f64>,
}

/// One hypothesis.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// Which.
    pub check: String,
    /// What came out.
    pub verdict: FindingWord,
    /// In a sentence.
    pub message: String,
    /// What it rests on.
    pub evidence: Vec<String>,
    /// What to do.
    pub next_step: Option<String>,
}

/// What came out of a hypothesis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FindingWord {
    /// It holds.
    Accepted,
    /// It does not.
    Rejected,
    /// Not decided.
    NotEnoughData,
}

/// What was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Loss {
    /// The field that is missing or weaker.
    pub field: String,
    /// Why.
    pub reason: String,
    /// How to get it.
    pub hint: Option<String>,
}

/// How far a number may be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Precision {
    /// The kernel's own count or time.
    Exact,
    /// Between two readings.
    Bounded,
    /// From a model.
    Estimated,
}

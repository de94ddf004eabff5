//! Rows: what was seen, when. One struct a table; counters as the kernel has them, units in names.
//!
//! `Option` means "not there or not readable", never zero.

use crate::limit::CpuLimit;
use crate::requests::RequestRow;

/// Which hierarchy a group belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Hierarchy {
    /// Version 1, the hierarchy that carries the cpu controller.
    V1Cpu,
    /// Version 2, the unified hierarchy.
    V2,
}

impl Hierarchy {
    /// As shown and as in JSON: `v1:cpu` or `v2`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::V1Cpu => "v1:cpu",
            Self::V2 => "v2",
        }
    }
}

/// Where a group's CPU usage comes from; decides how exact it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UsageSource {
    /// `usage_usec` of cpu.stat (v2).
    CpuStat,
    /// `cpuacct.usage` of the same path in the cpuacct hierarchy (v1).
    Cpuacct,
    /// Sum over the group's threads (`/proc/PID/task/TID/schedstat`): misses threads that came and
    /// went between two reads.
    Threads,
    /// Not to be had.
    None,
}

/// Key of a group within a recording.
pub type GroupKey = u32;

/// One group that is watched. Identity is hierarchy + inode; the path is a hint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupRow {
    /// Key that the other rows use.
    pub group: GroupKey,
    /// Its hierarchy.
    pub hierarchy: Hierarchy,
    /// kernfs inode of its directory; a new group at the same path has another one.
    pub inode: u64,
    /// Path within the hierarchy, as this process sees it.
    pub path: String,
    /// Levels below the root of the mount; 0 is that root itself.
    pub depth: u32,
    /// Where its usage comes from.
    pub usage_source: UsageSource,
    /// Its share of busy CPUs beside its siblings, when it was opened: `cpu.shares` (v1, usually
    /// 1024) or `cpu.weight` (v2, usually 100). It stops nobody.
    pub weight: Option<u64>,
}

/// Raw counters of one group, each as read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    /// Expirations of the group's period timer. A signed 32-bit number in the kernel.
    pub nr_periods: Option<i64>,
    /// Expirations at which at least one CPU's queue of the group was stopped.
    pub nr_throttled: Option<i64>,
    /// Sum over CPUs of finished stops, ns. Not wall time.
    pub throttled_ns: Option<i64>,
    /// The same, of own and all parents' stops (cpu.stat.local, since 6.6), ns.
    pub throttled_local_ns: Option<i64>,
    /// Periods in which burst was drawn.
    pub nr_bursts: Option<i64>,
    /// CPU time drawn beyond the quota, ns.
    pub burst_ns: Option<i64>,
    /// CPU time used, ns.
    pub usage_ns: Option<i64>,
    /// PSI `some` total of the group, ns (v2 with PSI on).
    pub psi_some_ns: Option<i64>,
    /// PSI `full` total of the group, ns.
    pub psi_full_ns: Option<i64>,
}

/// One reading of one group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleRow {
    /// When it was read.
    pub time_ns: i64,
    /// Whose counters.
    pub group: GroupKey,
    /// What they were.
    pub counters: Counters,
}

/// Why a group has no readable limit. Three different answers, none of them an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NoLimit {
    /// The real root of the hierarchy: it cannot be limited.
    Root,
    /// The cpu controller is not enabled for this group (v2).
    ControllerOff,
    /// The controller is there, but the kernel was built without CFS_BANDWIDTH.
    NoBandwidth,
    /// The file is there and could not be read or understood.
    Unreadable,
}

/// What a group's limit files said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LimitState {
    /// Read.
    Limit(CpuLimit),
    /// There is none to read.
    None(NoLimit),
}

impl LimitState {
    /// The limit in cores, if one is set.
    #[must_use]
    pub fn cores(&self) -> Option<f64> {
        match self {
            Self::Limit(limit) => limit.cores(),
            Self::None(_) => None,
        }
    }
}

/// The limit of a group from `time_ns` on: one row at the start, one at each change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LimitRow {
    /// When it was first seen so.
    pub time_ns: i64,
    /// Whose.
    pub group: GroupKey,
    /// What it was.
    pub limit: LimitState,
}

/// CPUs that the target may run on, from `time_ns` on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpusetRow {
    /// When it was first seen so.
    pub time_ns: i64,
    /// Path of the cpuset group.
    pub path: String,
    /// The list as the kernel writes it.
    pub list: String,
    /// How many.
    pub cpus: u32,
}

/// The target's threads, added up since the watch began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadsRow {
    /// When it was read.
    pub time_ns: i64,
    /// Processes in the target and below it.
    pub processes: u32,
    /// Threads alive in the target and below it.
    pub threads: u32,
    /// CPU time they used since the watch began, ns.
    pub on_cpu_ns: i64,
    /// Time they were runnable and not running since the watch began, ns. Stops are in it too.
    pub run_delay_ns: i64,
    /// Threads that could not be read, or were beyond the cap.
    pub unread: u32,
}

/// The host, cumulative since boot. From /proc/stat, so in steps of 10 ms.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HostRow {
    /// When it was read.
    pub time_ns: i64,
    /// All CPUs: time spent on anything but idle, iowait and steal, ns.
    pub busy_ns: i64,
    /// Time the hypervisor gave to others, ns.
    pub steal_ns: i64,
    /// Busy + steal + idle + iowait, ns.
    pub total_ns: i64,
    /// /proc/pressure/cpu `some` total, ns.
    pub psi_some_ns: Option<i64>,
    /// CPU time of this process itself, ns.
    pub own_ns: i64,
}

/// Something that happened to a group while it was watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// The group's directory is gone.
    Vanished,
    /// Another group stands at its path: a restart.
    Restarted {
        /// Inode of the new one.
        inode: u64,
    },
}

/// An event row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRow {
    /// When it was noticed.
    pub time_ns: i64,
    /// Whose.
    pub group: GroupKey,
    /// What.
    pub kind: EventKind,
}

/// Something that could not be measured: which field, why, and how to get it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LossRow {
    /// The JSON field that is missing or weaker, such as `requests` or `counters.usage_cores`.
    pub field: String,
    /// Why.
    pub reason: String,
    /// What would bring it; empty if nothing can.
    pub hint: String,
}

/// The two clocks read together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockRow {
    /// `CLOCK_MONOTONIC`, ns.
    pub monotonic_ns: i64,
    /// `CLOCK_REALTIME`, ns since 1970.
    pub realtime_ns: i64,
}

/// The tables of a recording, or the part of them that one second brought.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Batch {
    /// Groups, each once.
    pub groups: Vec<GroupRow>,
    /// Counters.
    pub samples: Vec<SampleRow>,
    /// Limits and their changes.
    pub limits: Vec<LimitRow>,
    /// The target's cpuset and its changes.
    pub cpusets: Vec<CpusetRow>,
    /// The target's threads.
    pub threads: Vec<ThreadsRow>,
    /// The host.
    pub host: Vec<HostRow>,
    /// Events.
    pub events: Vec<EventRow>,
    /// Losses, each once.
    pub losses: Vec<LossRow>,
    /// Clock pairs.
    pub clock: Vec<ClockRow>,
    /// Requests as the load generator saw them.
    pub requests: Vec<RequestRow>,
}

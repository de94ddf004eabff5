//! What a host lets us see, as plain facts. The report says what follows from them.

use crate::recording::HostFacts;
use crate::rows::Hierarchy;

/// One cgroup mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MountFact {
    /// Where.
    pub point: String,
    /// Which group of the hierarchy is mounted there.
    pub root: String,
    /// Controllers (v1); `None` = the unified hierarchy.
    pub controllers: Option<Vec<String>>,
}

/// Facts for `doctor`. `None` = could not be found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// The machine.
    pub host: HostFacts,
    /// Its cgroup mounts.
    pub mounts: Vec<MountFact>,
    /// The hierarchy with the cpu controller.
    pub hierarchy: Option<Hierarchy>,
    /// Group of this process there.
    pub own_group: Option<String>,
    /// Whether groups can be made below it: for the lab.
    pub own_group_writable: bool,
    /// How many groups are visible, and how many of them have a quota.
    pub groups: Option<(usize, usize)>,
    /// Effective user id.
    pub euid: u32,
    /// Bits of effective capabilities.
    pub cap_eff: Option<u64>,
    /// Whether every level up to the root of the hierarchy is visible.
    pub all_levels: Option<bool>,
    /// cpu.stat.local, from 6.6 on.
    pub stat_local: bool,
    /// PSI of the machine.
    pub psi: bool,
    /// Waiting times of threads (SCHED_INFO).
    pub schedstat: bool,
    /// Kernel type information for BPF.
    pub btf: bool,
    /// Kernel lockdown mode: `none`, `integrity`, `confidentiality`.
    pub lockdown: Option<String>,
    /// Whether the kernel has kprobes.
    pub kprobes: Option<bool>,
    /// Runtimes whose sockets or directories are there: name and path.
    pub runtimes: Vec<(String, String)>,
}

/// `CAP_SYS_NICE`, linux/capability.h.
pub const CAP_SYS_NICE: u32 = 23;
/// `CAP_SYS_ADMIN`.
pub const CAP_SYS_ADMIN: u32 = 21;
/// `CAP_PERFMON`.
pub const CAP_PERFMON: u32 = 38;
/// `CAP_BPF`.
pub const CAP_BPF: u32 = 39;

impl Capabilities {
    /// Whether this process holds a capability; `None` if unknown.
    #[must_use]
    pub fn holds(&self, capability: u32) -> Option<bool> {
        self.cap_eff.map(|bits| bits >> capability & 1 == 1)
    }
}

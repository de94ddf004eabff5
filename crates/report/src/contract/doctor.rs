//! `doctor`, version 1.

use schemars::JsonSchema;
use serde::Serialize;
use unthrottle_analysis::model::capabilities::{
    CAP_BPF, CAP_PERFMON, CAP_SYS_ADMIN, CAP_SYS_NICE, Capabilities,
};
use unthrottle_analysis::model::rows::Hierarchy;

/// What this host lets us see.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Doctor {
    /// Always `unthrottle.doctor/v1`.
    pub schema: String,
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
    /// `v1:cpu` or `v2`: the hierarchy with the cpu controller.
    pub hierarchy: Option<String>,
    /// All cgroup mounts.
    pub mounts: Vec<Mount>,
    /// Group of this process.
    pub own_group: Option<String>,
    /// Groups visible.
    pub groups_count: Option<usize>,
    /// Those with a quota.
    pub limited_groups_count: Option<usize>,
    /// Runtimes found.
    pub runtimes: Vec<Runtime>,
    /// What can be done, and what not.
    pub checks: Vec<Check>,
}

/// One cgroup mount.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Mount {
    /// Where.
    pub point: String,
    /// Which group is mounted there.
    pub root: String,
    /// `v1` or `v2`.
    pub version: String,
    /// Controllers, v1.
    pub controllers: Vec<String>,
}

/// A container or service runtime.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Runtime {
    /// Its name.
    pub name: String,
    /// Where it was found.
    pub path: String,
}

/// One ability.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Check {
    /// What it is for.
    pub name: String,
    /// Whether it is there.
    pub status: Status,
    /// What was seen.
    pub detail: String,
    /// What its absence costs.
    pub cost: Option<String>,
    /// How to get it.
    pub hint: Option<String>,
}

/// Whether an ability is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It is.
    Ok,
    /// It is not.
    Missing,
    /// Could not be found out.
    Unknown,
}

/// Builds the document.
#[must_use]
pub fn doctor(facts: &Capabilities) -> Doctor {
    Doctor {
        schema: "unthrottle.doctor/v1".to_owned(),
        kernel: facts.host.kernel.clone(),
        hz: facts.host.hz,
        cpus_online: facts.host.cpus_online,
        cpus_allowed: facts.host.cpus_allowed,
        slice_us: facts.host.slice_us,
        hierarchy: facts.hierarchy.map(|hierarchy| hierarchy.word().to_owned()),
        mounts: facts
            .mounts
            .iter()
            .map(|mount| Mount {
                point: mount.point.clone(),
                root: mount.root.clone(),
                version: if mount.controllers.is_some() { "v1" } else { "v2" }.to_owned(),
                controllers: mount.controllers.clone().unwrap_or_default(),
            })
            .collect(),
        own_group: facts.own_group.clone(),
        groups_count: facts.groups.map(|groups| groups.0),
        limited_groups_count: facts.groups.map(|groups| groups.1),
        runtimes: facts
            .runtimes
            .iter()
            .map(|(name, path)| Runtime { name: name.clone(), path: path.clone() })
            .collect(),
        checks: checks(facts),
    }
}

fn check(
    name: &str,
    status: Option<bool>,
    detail: impl Into<String>,
    cost: &str,
    hint: &str,
) -> Check {
    let status = match status {
        Some(true) => Status::Ok,
        Some(false) => Status::Missing,
        None => Status::Unknown,
    };
    let unless_ok =
        |text: &str| (status != Status::Ok && !text.is_empty()).then(|| text.to_owned());
    Check {
        name: name.to_owned(),
        status,
        detail: detail.into(),
        cost: unless_ok(cost),
        hint: unless_ok(hint),
    }
}

fn checks(facts: &Capabilities) -> Vec<Check> {
    let bpf = match (facts.holds(CAP_SYS_ADMIN), facts.holds(CAP_BPF), facts.holds(CAP_PERFMON)) {
        (Some(true), _, _) | (_, Some(true), Some(true)) => Some(true),
        (None, _, _) => None,
        _ => Some(false),
    };
    let sched_ext = facts.host.sched_ext.as_deref();
    vec![
        check(
            "counters",
            Some(facts.hierarchy.is_some()),
            facts.hierarchy.map_or("no mount with the cpu controller".to_owned(), |hierarchy| {
                format!("cpu controller in {}", hierarchy.word())
            }),
            "nothing can be measured",
            "mount the host's /proc and /sys and name their parent with `--root DIR`",
        ),
        check(
            "all levels",
            facts.all_levels,
            "levels up to the root of the hierarchy",
            "a limit on a hidden parent shows only in cpu.stat.local",
            "run on the host, outside of a cgroup namespace",
        ),
        check(
            "cpu.stat.local",
            Some(facts.stat_local),
            "stops by any level, also hidden ones (6.6 and later)",
            "stops by a hidden parent stay unseen",
            "a newer kernel",
        ),
        check(
            "thread waiting",
            Some(facts.schedstat),
            "/proc/PID/schedstat",
            "contention cannot be told",
            "a kernel with CONFIG_SCHED_INFO",
        ),
        check(
            "scheduler statistics",
            facts.host.schedstats,
            "kernel.sched_schedstats",
            "nothing here: waiting times come from each thread",
            "",
        ),
        check(
            "pressure",
            Some(facts.psi),
            "/proc/pressure/cpu",
            "no PSI beside the counters",
            "boot with `psi=1`, on a kernel with CONFIG_PSI",
        ),
        check(
            "real-time priority",
            facts.holds(CAP_SYS_NICE),
            "for the load generator",
            "it may be late on a busy machine; its lateness is always reported",
            "run as root, or grant CAP_SYS_NICE",
        ),
        check(
            "own groups",
            Some(facts.own_group_writable),
            format!("groups below `{}`", facts.own_group.as_deref().unwrap_or("?")),
            "`demo` and the lab cannot set a limit",
            match facts.hierarchy {
                Some(Hierarchy::V2) => {
                    "run as root, or `systemd-run --user --scope -p Delegate=yes unthrottle demo`"
                }
                // Groups of v1 are rarely handed to users.
                _ => "run as root",
            },
        ),
        check(
            "BPF privileges",
            bpf,
            "CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN",
            "nothing here: this version reads counters only, and traces no single stops",
            "run as root, or grant CAP_BPF and CAP_PERFMON",
        ),
        check(
            "BPF type information",
            Some(facts.btf),
            "/sys/kernel/btf/vmlinux",
            "nothing here: this version reads counters only, and traces no single stops",
            "a kernel with CONFIG_DEBUG_INFO_BTF",
        ),
        check(
            "kprobes",
            facts.kprobes,
            facts.lockdown.as_ref().map_or_else(
                || "kernel lockdown unknown".to_owned(),
                |mode| format!("kernel lockdown `{mode}`"),
            ),
            "nothing here: this version reads counters only, and traces no single stops",
            "",
        ),
        check(
            "fair scheduler",
            Some(sched_ext != Some("enabled")),
            sched_ext.map_or("no sched_ext".to_owned(), |state| format!("sched_ext `{state}`")),
            "another scheduler decides: limits may not be enforced and counters may stand still",
            "stop the sched_ext scheduler to measure",
        ),
    ]
}

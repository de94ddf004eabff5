//! A recording in memory: what the host is, what was watched, and the rows.

pub use crate::rows::Batch;
use crate::rows::{GroupKey, Hierarchy};

/// Facts about the machine, collected once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// `uname -r`.
    pub kernel: String,
    /// Major and minor version, if the release begins with them.
    pub kernel_version: Option<(u32, u32)>,
    /// Ticks a second; `None` if it could not be seen.
    pub hz: Option<u32>,
    /// CPUs online.
    pub cpus_online: u32,
    /// CPUs that this process may run on.
    pub cpus_allowed: Option<u32>,
    /// Whether the scheduler's own statistics are on (`kernel.sched_schedstats`).
    pub schedstats: Option<bool>,
    /// Size of the slice a CPU draws from the pool, us (`sched_cfs_bandwidth_slice_us`).
    pub slice_us: Option<u64>,
    /// State of sched_ext: `enabled` means another scheduler may decide, and not enforce limits.
    pub sched_ext: Option<String>,
}

/// What is watched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetFacts {
    /// As it was asked for.
    pub asked: String,
    /// What it is called.
    pub name: String,
    /// What runs it: `docker`, `systemd`, ...; `None` if the path does not say.
    pub runtime: Option<String>,
    /// Its hierarchy.
    pub hierarchy: Hierarchy,
    /// Its path there.
    pub path: String,
    /// Its key in the rows.
    pub group: GroupKey,
    /// Root of the mount it is seen through.
    pub mount_root: String,
    /// Whether there are levels above that root, which cannot be seen from here.
    pub levels_hidden: bool,
}

/// What a recording is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Meta {
    /// The machine.
    pub host: HostFacts,
    /// The target.
    pub target: TargetFacts,
}

/// Everything known about one watch.
#[derive(Debug, Clone, PartialEq)]
pub struct Recording {
    /// What it is about.
    pub meta: Meta,
    /// What was seen.
    pub rows: Batch,
}

impl Recording {
    /// An empty recording.
    #[must_use]
    pub fn new(meta: Meta) -> Self {
        Self { meta, rows: Batch::default() }
    }

    /// Adds the rows of one batch. A loss that is already there is not repeated.
    pub fn push(&mut self, batch: Batch) {
        let rows = &mut self.rows;
        rows.groups.extend(batch.groups);
        rows.samples.extend(batch.samples);
        rows.limits.extend(batch.limits);
        rows.cpusets.extend(batch.cpusets);
        rows.threads.extend(batch.threads);
        rows.host.extend(batch.host);
        rows.events.extend(batch.events);
        rows.clock.extend(batch.clock);
        rows.requests.extend(batch.requests);
        for loss in batch.losses {
            if !rows.losses.contains(&loss) {
                rows.losses.push(loss);
            }
        }
    }
}

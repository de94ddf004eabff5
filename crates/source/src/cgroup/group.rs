//! One group: its files kept open, read again and again.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use unthrottle_model::rows::{Counters, Hierarchy, LimitState, NoLimit, UsageSource};

use super::parse;
use crate::mounts::CgroupFs;
use crate::read::{self, Kept};

/// One reading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Counters; usage is missing where only threads could tell.
    pub counters: Counters,
    /// Limit.
    pub limit: LimitState,
}

/// A group with its files open. The descriptors belong to this group alone: when it is removed they
/// answer `ENODEV`, even if another group takes its place.
#[derive(Debug)]
pub struct Group {
    /// Its path in the hierarchy.
    pub path: String,
    /// Its directory.
    pub dir: PathBuf,
    /// Its inode: its identity, together with the hierarchy.
    pub inode: u64,
    /// Where its usage comes from.
    pub usage_source: UsageSource,
    /// `cpu.shares` or `cpu.weight`.
    pub weight: Option<u64>,
    hierarchy: Hierarchy,
    stat: Option<Kept>,
    stat_local: Option<Kept>,
    usage: Option<Kept>,
    pressure: Option<Kept>,
    limit: LimitFiles,
    buffer: Vec<u8>,
}

#[derive(Debug)]
enum LimitFiles {
    V1 { quota: Kept, period: Kept, burst: Option<Kept> },
    V2 { max: Kept, burst: Option<Kept> },
    None(NoLimit),
}

impl Group {
    /// Opens the files of the group at `dir`.
    ///
    /// # Errors
    /// If the directory is not there. Files that are missing are not errors.
    pub fn open(fs: &CgroupFs, path: &str, dir: &Path) -> io::Result<Self> {
        let inode = std::fs::metadata(dir)?.ino();
        let kept = |name: &str| Kept::open(&dir.join(name));
        let (usage, usage_source) = match fs.hierarchy {
            Hierarchy::V2 => (None, UsageSource::CpuStat),
            Hierarchy::V1Cpu => {
                // Mounted together the file is in the group's own directory.
                let own = kept("cpuacct.usage");
                let file = own.or_else(|| {
                    let twin = fs.twin("cpuacct", path)?;
                    same_members(dir, &twin).then(|| Kept::open(&twin.join("cpuacct.usage")))?
                });
                let source =
                    if file.is_some() { UsageSource::Cpuacct } else { UsageSource::Threads };
                (file, source)
            }
        };
        Ok(Self {
            path: path.to_owned(),
            dir: dir.to_owned(),
            inode,
            usage_source,
            weight: read::try_text(&dir.join(match fs.hierarchy {
                Hierarchy::V1Cpu => "cpu.shares",
                Hierarchy::V2 => "cpu.weight",
            }))
            .ok()
            .and_then(|text| text.trim().parse().ok()),
            hierarchy: fs.hierarchy,
            stat: kept("cpu.stat"),
            stat_local: kept("cpu.stat.local"),
            usage,
            pressure: kept("cpu.pressure"),
            limit: LimitFiles::open(fs.hierarchy, dir),
            buffer: Vec::with_capacity(4096),
        })
    }

    /// Reads no usage any more: it was found to be that of others.
    pub fn forget_usage(&mut self) {
        self.usage = None;
        self.usage_source = UsageSource::None;
    }

    /// Whether cpu.stat is there at all.
    #[must_use]
    pub fn has_counters(&self) -> bool {
        self.stat.is_some()
    }

    /// Reads counters and limit.
    ///
    /// # Errors
    /// `ENODEV` if the group is gone; other errors of the system on cpu.stat.
    pub fn read(&mut self) -> io::Result<Reading> {
        let mut counters = Counters::default();
        let buffer = &mut self.buffer;
        if let Some(stat) = &self.stat {
            let text = stat.read(buffer)?;
            if text.is_empty() {
                // The kernel always has something to say: the file is cut off from its group.
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            parse::cpu_stat(text, self.hierarchy, &mut counters);
        } else if !self.dir.is_dir() {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        let mut text = |file: &Option<Kept>| -> Option<String> {
            file.as_ref()?.read(buffer).ok().map(str::to_owned)
        };
        if let Some(local) = text(&self.stat_local) {
            counters.throttled_local_ns = parse::throttled_local_ns(&local);
        }
        if let Some(usage) = text(&self.usage) {
            counters.usage_ns = usage.trim().parse().ok();
        }
        if let Some(pressure) = text(&self.pressure) {
            (counters.psi_some_ns, counters.psi_full_ns) = parse::pressure_ns(&pressure);
        }
        let limit = self.read_limit()?;
        Ok(Reading { counters, limit })
    }

    /// v2 groups get and lose the controller while they live: systemd hands it down when a unit
    /// gets its first quota.
    fn read_limit(&mut self) -> io::Result<LimitState> {
        let off = matches!(self.limit, LimitFiles::None(NoLimit::ControllerOff));
        let read = self.limit.read(&mut self.buffer);
        if self.hierarchy != Hierarchy::V2 || (read.is_ok() && !off) {
            return read;
        }
        // Of a group that is being removed the files go one by one: then it would look like a root.
        let same = |meta: std::fs::Metadata| meta.ino() == self.inode;
        let now = LimitFiles::open(self.hierarchy, &self.dir);
        if matches!(now, LimitFiles::None(NoLimit::Root))
            || !std::fs::metadata(&self.dir).is_ok_and(same)
        {
            return read;
        }
        self.limit = now;
        self.limit.read(&mut self.buffer)
    }
}

impl LimitFiles {
    fn open(hierarchy: Hierarchy, dir: &Path) -> Self {
        let kept = |name: &str| Kept::open(&dir.join(name));
        let absent = |name: &str| !dir.join(name).exists();
        match hierarchy {
            Hierarchy::V1Cpu => match (kept("cpu.cfs_quota_us"), kept("cpu.cfs_period_us")) {
                (Some(quota), Some(period)) => {
                    Self::V1 { quota, period, burst: kept("cpu.cfs_burst_us") }
                }
                _ if absent("cpu.cfs_quota_us") => Self::None(NoLimit::NoBandwidth),
                _ => Self::None(NoLimit::Unreadable),
            },
            Hierarchy::V2 => match kept("cpu.max") {
                Some(max) => Self::V2 { max, burst: kept("cpu.max.burst") },
                None if !absent("cpu.max") => Self::None(NoLimit::Unreadable),
                // cgroup.type is in every group but the root (cgroup-v2.rst).
                None if absent("cgroup.type") => Self::None(NoLimit::Root),
                None if absent("cpu.weight") => Self::None(NoLimit::ControllerOff),
                None => Self::None(NoLimit::NoBandwidth),
            },
        }
    }

    fn read(&self, buffer: &mut Vec<u8>) -> io::Result<LimitState> {
        let mut number = |file: &Option<Kept>| -> u64 {
            file.as_ref().and_then(|file| file.read(buffer).ok()?.trim().parse().ok()).unwrap_or(0)
        };
        let limit = match self {
            Self::None(why) => return Ok(LimitState::None(*why)),
            Self::V2 { max, burst } => {
                let burst_us = number(burst);
                parse::cpu_max(max.read(buffer)?, burst_us)
            }
            Self::V1 { quota, period, burst } => {
                let burst_us = number(burst);
                let quota = quota.read(buffer)?.to_owned();
                parse::cfs_limit(&quota, period.read(buffer)?, burst_us)
            }
        };
        Ok(limit.map_or(LimitState::None(NoLimit::Unreadable), LimitState::Limit))
    }
}

/// Whether the group's processes are in the twin too. A twin at the same path that holds others
/// (or nobody, while this group is busy) would give somebody else's usage.
fn same_members(dir: &Path, twin: &Path) -> bool {
    let pids = |dir: &Path| -> Vec<u32> {
        let mut pids = read::try_text(&dir.join("cgroup.procs"))
            .map_or_else(|_| Vec::new(), |t| parse::pids(&t));
        pids.sort_unstable();
        pids
    };
    let (ours, theirs) = (pids(dir), pids(twin));
    // Processes come and go between the two reads: one in common is enough.
    ours.is_empty() || ours.iter().any(|pid| theirs.binary_search(pid).is_ok())
}

#[cfg(test)]
mod tests {
    use unthrottle_model::limit::{CpuLimit, Quota};
    use unthrottle_testkit::FakeTree;

    use super::*;
    use crate::root::Root;

    const MAX: &str = "sys/fs/cgroup/a/cpu.max";

    fn half() -> LimitState {
        let quota = Quota { quota_us: 50_000, period_us: 100_000, burst_us: 0 };
        LimitState::Limit(CpuLimit::Quota(quota))
    }

    fn open(tree: &FakeTree) -> Group {
        let fs = CgroupFs::discover(&Root::at(tree.root())).expect("a mount");
        Group::open(&fs, "/a", &tree.directory("cpu", "/a")).expect("a group")
    }

    fn limit(group: &mut Group) -> LimitState {
        group.read().expect("reads").limit
    }

    #[test]
    fn the_controller_comes_while_watched() {
        let tree = FakeTree::v2();
        tree.group("/a", |group| group.quota(50_000, 100_000));
        for file in ["cpu.max", "cpu.max.burst", "cpu.weight"] {
            tree.remove(&format!("sys/fs/cgroup/a/{file}"));
        }
        let mut group = open(&tree);
        assert_eq!(limit(&mut group), LimitState::None(NoLimit::ControllerOff));
        tree.file(MAX, "50000 100000\n");
        assert_eq!(limit(&mut group), half());
    }

    #[test]
    fn a_group_on_its_way_out_is_no_root() {
        let tree = FakeTree::v2();
        tree.group("/a", |group| group);
        for file in ["cpu.max", "cpu.max.burst", "cpu.weight"] {
            tree.remove(&format!("sys/fs/cgroup/a/{file}"));
        }
        let mut group = open(&tree);
        tree.remove("sys/fs/cgroup/a/cgroup.type");
        assert_eq!(limit(&mut group), LimitState::None(NoLimit::ControllerOff));
        tree.remove_group("/a");
        assert_eq!(limit(&mut group), LimitState::None(NoLimit::ControllerOff));
    }
}

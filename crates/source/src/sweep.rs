//! Readings of every limited group of a host, for a ranking.

use unthrottle_model::rows::{Batch, GroupKey, GroupRow, LimitRow, LimitState, NoLimit, SampleRow};

use crate::cgroup::Group;
use crate::clock::monotonic_ns;
use crate::mounts::CgroupFs;
use crate::scan;

/// All groups that have a quota, their files open.
#[derive(Debug)]
pub struct Sweep {
    groups: Vec<Group>,
    /// What was read so far. A group that is removed meanwhile simply has fewer samples.
    pub rows: Batch,
    /// Groups seen that have no quota of their own.
    pub unlimited: usize,
    /// Groups whose limit could not be read, for instance for want of open files.
    pub unreadable: usize,
}

impl Sweep {
    /// Walks the hierarchy once and keeps the groups with a quota.
    #[must_use]
    pub fn open(fs: &CgroupFs) -> Self {
        let mut sweep =
            Self { groups: Vec::new(), rows: Batch::default(), unlimited: 0, unreadable: 0 };
        for (path, dir) in scan::groups(fs) {
            // Removed since the walk: not there.
            let Ok(mut group) = Group::open(fs, &path, &dir) else { continue };
            let Ok(reading) = group.read() else { continue };
            if reading.limit == LimitState::None(NoLimit::Unreadable) {
                sweep.unreadable += 1;
                continue;
            }
            if reading.limit.cores().is_none() {
                sweep.unlimited += 1;
                continue;
            }
            let key = sweep.groups.len() as GroupKey;
            sweep.rows.groups.push(GroupRow {
                group: key,
                hierarchy: fs.hierarchy,
                inode: group.inode,
                depth: path.split('/').filter(|part| !part.is_empty()).count() as u32,
                path,
                usage_source: group.usage_source,
                weight: group.weight,
            });
            sweep.groups.push(group);
        }
        sweep
    }

    /// Reads every group once more.
    pub fn read(&mut self) {
        for (key, group) in (0..).zip(&mut self.groups) {
            let Ok(reading) = group.read() else { continue };
            let time_ns = monotonic_ns();
            self.rows.samples.push(SampleRow { time_ns, group: key, counters: reading.counters });
            self.rows.limits.push(LimitRow { time_ns, group: key, limit: reading.limit });
        }
    }
}

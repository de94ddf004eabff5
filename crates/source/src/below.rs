//! Groups below the target that have a limit of their own.
//!
//! Their stops are in the target's waiting threads, but in none of the counters on the way up: a
//! slice or a pod would look contended where one of its parts ran out of quota. Found once, when the
//! watch begins; a group that is made later is not seen.

use unthrottle_model::rows::{Batch, GroupKey, GroupRow, LimitRow, SampleRow};

use crate::cgroup::Group;
use crate::clock::monotonic_ns;
use crate::mounts::CgroupFs;
use crate::scan;
use crate::target::Resolved;

/// Groups read at most, so that watching a whole machine stays cheap.
pub const MAX_BELOW: usize = 256;

/// The limited groups below a target, their files open. Their keys follow the target's.
#[derive(Debug)]
pub struct Below {
    first: GroupKey,
    groups: Vec<Group>,
    /// Limited groups beyond [`MAX_BELOW`].
    pub left_out: usize,
}

impl Below {
    /// Walks the groups below the target.
    #[must_use]
    pub fn open(fs: &CgroupFs, target: &Resolved, target_key: GroupKey) -> Self {
        let mut below = Self { first: target_key + 1, groups: Vec::new(), left_out: 0 };
        for (path, dir) in scan::under(&target.facts.path, &target.located.dir) {
            let limited = Group::open(fs, &path, &dir).ok().and_then(|mut group| {
                let reading = group.read().ok()?;
                reading.limit.cores().map(|_| group)
            });
            match limited {
                Some(group) if below.groups.len() < MAX_BELOW => below.groups.push(group),
                Some(_) => below.left_out += 1,
                None => {}
            }
        }
        below
    }

    /// Identity rows.
    #[must_use]
    pub fn group_rows(&self, fs: &CgroupFs) -> Vec<GroupRow> {
        (self.first..)
            .zip(&self.groups)
            .map(|(key, group)| GroupRow {
                group: key,
                hierarchy: fs.hierarchy,
                inode: group.inode,
                path: group.path.clone(),
                depth: group.path.split('/').filter(|part| !part.is_empty()).count() as u32,
                usage_source: group.usage_source,
                weight: group.weight,
            })
            .collect()
    }

    /// Reads every group. One that is gone simply has fewer samples.
    pub fn read(&mut self, batch: &mut Batch) {
        for (key, group) in (self.first..).zip(&mut self.groups) {
            let Ok(reading) = group.read() else { continue };
            let time_ns = monotonic_ns();
            batch.samples.push(SampleRow { time_ns, group: key, counters: reading.counters });
            batch.limits.push(LimitRow { time_ns, group: key, limit: reading.limit });
        }
    }
}

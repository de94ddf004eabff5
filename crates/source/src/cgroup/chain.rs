//! A group and every level above it, up to the root of the mount.

use std::io;

use unthrottle_model::rows::{
    Batch, EventKind, EventRow, GroupKey, GroupRow, LimitRow, LimitState, LossRow, SampleRow,
    UsageSource,
};

use super::group::Group;
use crate::clock::monotonic_ns;
use crate::error::SourceError;
use crate::mounts::{CgroupFs, Located};

/// All levels of one target, root first. A group's key is its depth.
#[derive(Debug)]
pub struct Chain {
    fs: CgroupFs,
    levels: Vec<Level>,
}

#[derive(Debug)]
struct Level {
    group: Group,
    depth: u32,
    alive: bool,
    last_limit: Option<LimitState>,
}

impl Chain {
    /// Opens every level.
    ///
    /// # Errors
    /// If a level's directory is gone or may not be entered.
    pub fn open(fs: &CgroupFs, located: &Located) -> Result<Self, SourceError> {
        let mut levels = Vec::new();
        for (depth, path, dir) in located.levels(&fs.root) {
            let group = Group::open(fs, &path, &dir)
                .map_err(|source| SourceError::Read { path: dir.clone(), source })?;
            levels.push(Level { group, depth, alive: true, last_limit: None });
        }
        // A target whose processes are elsewhere in cpuacct is missing in its parents there, too.
        let apart = levels
            .last()
            .is_some_and(|level: &Level| level.group.usage_source == UsageSource::Threads);
        if apart {
            let parents = levels.len() - 1;
            levels[..parents].iter_mut().skip(1).for_each(|level| level.group.forget_usage());
        }
        Ok(Self { fs: fs.clone(), levels })
    }

    /// Key of the target: the last level.
    #[must_use]
    pub fn target_key(&self) -> GroupKey {
        self.levels.len().saturating_sub(1) as GroupKey
    }

    /// The target itself.
    #[must_use]
    pub fn target(&self) -> Option<&Group> {
        self.levels.last().map(|level| &level.group)
    }

    /// Whether the target is still there.
    #[must_use]
    pub fn target_alive(&self) -> bool {
        self.levels.last().is_some_and(|level| level.alive)
    }

    /// Identity rows of all levels.
    #[must_use]
    pub fn group_rows(&self) -> Vec<GroupRow> {
        self.levels.iter().map(|level| row(&self.fs, level)).collect()
    }

    /// Reads every level into the batch. Target first: its counters are the ones that matter.
    pub fn read(&mut self, batch: &mut Batch) {
        for level in self.levels.iter_mut().rev().filter(|level| level.alive) {
            level.read(&self.fs, batch);
        }
    }
}

impl Level {
    fn read(&mut self, fs: &CgroupFs, batch: &mut Batch) {
        let key = self.depth;
        match self.group.read() {
            Ok(reading) => {
                let time_ns = monotonic_ns();
                batch.samples.push(SampleRow { time_ns, group: key, counters: reading.counters });
                if self.last_limit != Some(reading.limit) {
                    self.last_limit = Some(reading.limit);
                    batch.limits.push(LimitRow { time_ns, group: key, limit: reading.limit });
                }
            }
            Err(error) => self.gone(fs, &error, batch),
        }
    }

    /// The descriptors no longer answer: is another group there now, or none, or is it still this?
    fn gone(&mut self, fs: &CgroupFs, error: &io::Error, batch: &mut Batch) {
        let time_ns = monotonic_ns();
        let kind = match Group::open(fs, &self.group.path, &self.group.dir) {
            Ok(same) if same.inode == self.group.inode => {
                batch.losses.push(LossRow {
                    field: "counters".to_owned(),
                    reason: format!("`{}` could not be read: {error}", self.group.dir.display()),
                    hint: String::new(),
                });
                return;
            }
            Ok(other) => {
                let inode = other.inode;
                self.group = other;
                self.last_limit = None;
                EventKind::Restarted { inode }
            }
            Err(_) => {
                self.alive = false;
                EventKind::Vanished
            }
        };
        batch.events.push(EventRow { time_ns, group: self.depth, kind });
    }
}

fn row(fs: &CgroupFs, level: &Level) -> GroupRow {
    GroupRow {
        group: level.depth,
        hierarchy: fs.hierarchy,
        inode: level.group.inode,
        path: level.group.path.clone(),
        depth: level.depth,
        usage_source: level.group.usage_source,
        weight: level.group.weight,
    }
}

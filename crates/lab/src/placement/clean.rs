//! Removing what runs left behind that were killed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use unthrottle_model::rows::Hierarchy;
use unthrottle_source::mounts::CgroupFs;
use unthrottle_source::root::Root;

use super::error::{PlacementError, chain};
use super::guard::remove_all;
use super::kill;
use super::name::{GroupName, Owner, Role, pid_namespace};
use super::tree::{Kernel, Tree};
use super::unified;

/// What was found. Groups whose names are not exactly ours are not mentioned, nor touched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CleanReport {
    /// Groups that were removed.
    pub removed: Vec<PathBuf>,
    /// Processes inside that were killed.
    pub killed: usize,
    /// Groups of ours that were left alone, and why.
    pub kept: Vec<(PathBuf, Kept)>,
    /// Groups that should have been removed, and why they were not.
    pub failed: Vec<(PathBuf, String)>,
}

/// Why a group of ours was left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// Its owner runs.
    Live {
        /// The owner.
        pid: u32,
    },
    /// Its owner was in another pid namespace (a container, or the host): clean up from there.
    OtherPidNamespace,
}

/// The mounts to clean: every hierarchy in which groups of ours can be.
///
/// # Errors
/// If no mount carries the cpu controller.
pub fn roots() -> Result<Vec<PathBuf>, PlacementError> {
    let fs = CgroupFs::discover(&Root::machine())?;
    let mut mounts: Vec<_> = fs.cpu_mounts();
    if fs.hierarchy == Hierarchy::V1Cpu {
        mounts.extend(fs.of(Some("cpuacct")));
    }
    let mut roots: Vec<PathBuf> = mounts.iter().map(|mount| mount.point.clone()).collect();
    roots.sort();
    roots.dedup();
    Ok(roots)
}

/// Removes every stale group of ours below `roots`, with the processes inside. Groups of owners
/// that run, or that cannot be judged from this pid namespace, are kept.
///
/// # Errors
/// If this process' own namespace cannot be read. What goes wrong with a group is in the report.
pub fn clean(roots: &[PathBuf]) -> Result<CleanReport, PlacementError> {
    let mut report = CleanReport::default();
    let mut open = roots.to_vec();
    while let Some(dir) = open.pop() {
        children(&dir, &mut report)?;
        let names = match Kernel.children(&dir) {
            Ok(names) => names,
            Err(error) => {
                // Below the roots, a group that is gone was somebody else's and is no news.
                if roots.contains(&dir) {
                    report.failed.push((dir, error.to_string()));
                }
                continue;
            }
        };
        let (ours, others): (Vec<_>, Vec<_>) =
            names.into_iter().partition(|name| GroupName::parse(name).is_some());
        if ours.iter().filter_map(|name| GroupName::parse(name)).any(|n| n.role == Role::Aside) {
            settle(&dir, &mut report);
        }
        // Also into groups of ours: whoever runs inside may have made some of its own.
        open.extend(others.into_iter().chain(ours).map(|name| dir.join(name)));
    }
    Ok(report)
}

fn settle(base: &Path, report: &mut CleanReport) {
    let settled = Kernel.lock(base).and_then(|_locked| unified::settle(&Kernel, base));
    match settled {
        Ok(leaves) => report.removed.extend(leaves),
        Err(error) => report.failed.push((base.to_owned(), error.to_string())),
    }
}

/// Removes stale workload groups directly below `parent`.
pub(super) fn children(parent: &Path, report: &mut CleanReport) -> Result<(), PlacementError> {
    let pid_ns = pid_namespace().map_err(|source| PlacementError::Identity { source })?;
    // A parent that is gone or hidden has nothing that could be cleaned.
    for text in Kernel.children(parent).unwrap_or_default() {
        let Some(name) = GroupName::parse(&text) else { continue };
        if name.role == Role::Aside {
            continue;
        }
        let dir = parent.join(text);
        match name.owner(pid_ns) {
            Owner::Live => report.kept.push((dir, Kept::Live { pid: name.pid })),
            Owner::Elsewhere => report.kept.push((dir, Kept::OtherPidNamespace)),
            Owner::Gone => {
                if let Err(error) = remove_stale(&dir, report) {
                    report.failed.push((dir, chain(&error)));
                }
            }
        }
    }
    Ok(())
}

fn remove_stale(dir: &Path, report: &mut CleanReport) -> Result<(), PlacementError> {
    // Nobody is left who could want them to end in good order.
    let ended = kill::end(&[dir.to_owned()], Duration::ZERO, &mut || {})?;
    report.killed += ended.killed;
    remove_all(dir, &mut report.removed)
}

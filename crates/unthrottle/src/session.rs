//! Watching, from a target to a recording in memory. Touches no disk.

use unthrottle_model::Recording;
use unthrottle_source::mounts::CgroupFs;
use unthrottle_source::target::{self, Resolved, TargetSpec};
use unthrottle_source::watch::{Watch, WatchOptions};
use unthrottle_source::{Root, Stop};

use crate::error::Error;

/// Time between two readings of counters, ns.
pub const INTERVAL_NS: i64 = 1_000_000_000;

/// Finds the group that is meant.
///
/// # Errors
/// If there are no cgroups here, or not exactly one group is meant.
pub fn find(root: &Root, asked: &str) -> Result<(CgroupFs, Resolved), Error> {
    let spec: TargetSpec = asked.parse()?;
    let fs = CgroupFs::discover(root)?;
    let resolved = target::resolve(&fs, &spec, asked)?;
    Ok((fs, resolved))
}

/// Watches a target for `for_ns`, or until asked to stop. `seen` is told the time watched so far.
///
/// # Errors
/// If the target's files cannot be opened.
pub fn watch(
    fs: &CgroupFs,
    target: &Resolved,
    for_ns: i64,
    stop: &Stop,
    mut seen: impl FnMut(i64),
) -> Result<Recording, Error> {
    let options = WatchOptions { for_ns, interval_ns: INTERVAL_NS };
    let begin_ns = unthrottle_source::monotonic_ns();
    let (meta, watch) = Watch::start(fs, target, &options, stop)?;
    let mut recording = Recording::new(meta);
    while let Some(batch) = watch.next_batch() {
        recording.push(batch);
        seen(unthrottle_source::monotonic_ns() - begin_ns);
    }
    Ok(recording)
}

//! Ending every process in groups of ours, and nobody else.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};

use super::error::PlacementError;
use super::tree::{Kernel, Tree, members, subtree};

/// What it took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Ended {
    /// Processes that were there.
    pub(super) found: usize,
    /// Of those, how many had to be killed.
    pub(super) killed: usize,
}

/// SIGKILL works at once unless a process hangs in the kernel.
const KILL_PATIENCE: Duration = Duration::from_secs(5);
/// Descriptors held at a time.
const CHUNK: usize = 128;

/// Asks with SIGTERM for `grace`, then kills until the groups and all below them are empty. `reap`
/// collects children of ours that have ended.
pub(super) fn end(
    groups: &[PathBuf],
    grace: Duration,
    reap: &mut dyn FnMut(),
) -> Result<Ended, PlacementError> {
    let mut ended = Ended { found: pids(groups).len(), killed: 0 };
    if !grace.is_zero() && ended.found > 0 {
        signal(groups, Signal::TERM);
        wait_empty(groups, grace, reap);
    }
    let begin = Instant::now();
    let mut killed = BTreeSet::new();
    while populated(groups) {
        if begin.elapsed() > KILL_PATIENCE {
            let path = groups.first().cloned().unwrap_or_default();
            return Err(PlacementError::Busy { path, pids: pids(groups).into_iter().collect() });
        }
        killed.extend(pids(groups));
        for group in groups {
            // v2 kills the whole subtree in one step that no fork escapes.
            let _absent_on_v1 = Kernel.write(&group.join("cgroup.kill"), "1");
        }
        signal(groups, Signal::KILL);
        wait_empty(groups, Duration::from_millis(50), reap);
    }
    reap();
    ended.killed = killed.len();
    ended.found = ended.found.max(ended.killed);
    Ok(ended)
}

fn wait_empty(groups: &[PathBuf], patience: Duration, reap: &mut dyn FnMut()) {
    let begin = Instant::now();
    let mut pause = Duration::from_micros(500);
    loop {
        reap();
        if !populated(groups) || begin.elapsed() >= patience {
            return;
        }
        std::thread::sleep(pause);
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}

fn populated(groups: &[PathBuf]) -> bool {
    // v2 also counts processes that cannot be listed from here; the file is not there on v1.
    let events = |group: &PathBuf| {
        Kernel.read(&group.join("cgroup.events")).is_ok_and(|text| text.contains("populated 1"))
    };
    groups.iter().any(events) || !pids(groups).is_empty()
}

/// Everyone inside, once. Without 0, which stands for a process of another pid namespace: as the
/// target of a signal it would mean this program's own process group.
fn pids(groups: &[PathBuf]) -> BTreeSet<u32> {
    groups
        .iter()
        .flat_map(|group| subtree(&Kernel, group))
        .flat_map(|group| members(&Kernel, &group).unwrap_or_default())
        .filter(|pid| *pid != 0)
        .collect()
}

/// Signals everyone inside but this process.
///
/// A pid read from a file may be somebody else's by the time the signal is sent. So processes are
/// first pinned by descriptor, then looked for in the groups a second time: whoever is there in
/// both reads is the one that was pinned.
fn signal(groups: &[PathBuf], signal: Signal) {
    let all: Vec<u32> = pids(groups).into_iter().filter(|pid| *pid != std::process::id()).collect();
    for chunk in all.chunks(CHUNK) {
        let pinned: Vec<_> = chunk
            .iter()
            .filter_map(|pid| Some((*pid, Pid::from_raw(i32::try_from(*pid).ok()?)?)))
            .map(|(number, pid)| (number, pid, pidfd_open(pid, PidfdFlags::empty())))
            .collect();
        let still = pids(groups);
        for (number, pid, pinned) in pinned {
            if !still.contains(&number) {
                continue;
            }
            // A failure here shows later: the group does not become empty.
            let _shows_later: Result<(), io::Error> = match pinned {
                Ok(fd) => pidfd_send_signal(fd, signal).map_err(Into::into),
                Err(Errno::SRCH) => Ok(()),
                // Before 5.3, or out of descriptors.
                Err(_) => kill_process(pid, signal).map_err(Into::into),
            };
        }
    }
}

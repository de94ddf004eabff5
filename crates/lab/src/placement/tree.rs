//! The few operations that cgroup files need, so that the v2 rules can be tested against a model.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, OFlags, flock};
use rustix::io::Errno;

/// A cgroup hierarchy.
pub(super) trait Tree {
    fn read(&self, file: &Path) -> io::Result<String>;
    fn write(&self, file: &Path, value: &str) -> io::Result<()>;
    /// Whether [`Tree::write`] would be let in; changes nothing.
    fn writable(&self, file: &Path) -> io::Result<()>;
    fn make(&self, group: &Path) -> io::Result<()>;
    fn remove(&self, group: &Path) -> io::Result<()>;
    /// Names of the groups below.
    fn children(&self, group: &Path) -> io::Result<Vec<String>>;
    /// Keeps other processes of ours from changing the same parent; until the result is dropped.
    fn lock(&self, group: &Path) -> io::Result<Option<OwnedFd>>;
}

/// The real one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Kernel;

/// Others hold the lock while they make or remove a group; a stale one may have to be killed then.
const LOCK_PATIENCE: Duration = Duration::from_secs(15);

impl Tree for Kernel {
    fn read(&self, file: &Path) -> io::Result<String> {
        std::fs::read_to_string(file)
    }

    fn write(&self, file: &Path, value: &str) -> io::Result<()> {
        // Without `create`: a file that is not there must stay "not found", not become "denied".
        let mut file = OpenOptions::new().write(true).truncate(true).open(file)?;
        // The kernel takes a value whole or not at all.
        file.write_all(value.as_bytes())
    }

    fn writable(&self, file: &Path) -> io::Result<()> {
        OpenOptions::new().write(true).open(file).map(drop)
    }

    fn make(&self, group: &Path) -> io::Result<()> {
        std::fs::create_dir(group)
    }

    fn remove(&self, group: &Path) -> io::Result<()> {
        std::fs::remove_dir(group)
    }

    fn children(&self, group: &Path) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(group)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                names.push(entry.file_name().to_string_lossy().into_owned());
            }
        }
        Ok(names)
    }

    /// An advisory lock on the directory itself: it leaves no file and ends with its holder.
    fn lock(&self, group: &Path) -> io::Result<Option<OwnedFd>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(group, flags, Mode::empty())?;
        let begin = Instant::now();
        loop {
            match flock(&fd, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(fd)),
                Err(Errno::AGAIN) if begin.elapsed() < LOCK_PATIENCE => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                Err(Errno::AGAIN) => return Err(io::ErrorKind::TimedOut.into()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// A group and all below it, deepest first: the order in which they can be removed.
pub(super) fn subtree(tree: &dyn Tree, group: &Path) -> Vec<PathBuf> {
    let mut groups = Vec::new();
    let mut open = vec![group.to_owned()];
    while let Some(next) = open.pop() {
        // One that has just gone has no children.
        open.extend(tree.children(&next).unwrap_or_default().into_iter().map(|n| next.join(n)));
        groups.push(next);
    }
    groups.reverse();
    groups
}

/// Process ids in `cgroup.procs`. Processes of other pid namespaces show as 0 on v2.
pub(super) fn members(tree: &dyn Tree, group: &Path) -> io::Result<Vec<u32>> {
    let text = tree.read(&group.join("cgroup.procs"))?;
    Ok(text.lines().filter_map(|line| line.trim().parse().ok()).collect())
}

/// How long a group may stay busy after its last process has gone.
const REMOVE_PATIENCE: Duration = Duration::from_secs(2);

/// Removes an empty group. A process that has just exited keeps it busy for a moment.
pub(super) fn remove_group(tree: &dyn Tree, group: &Path) -> io::Result<()> {
    let begin = Instant::now();
    loop {
        match tree.remove(group) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error)
                if error.kind() == io::ErrorKind::ResourceBusy
                    && begin.elapsed() < REMOVE_PATIENCE =>
            {
                std::thread::sleep(Duration::from_millis(2));
            }
            other => return other,
        }
    }
}

//! Where /proc and /sys are: the machine's own, or copies below another directory.

use std::path::{Path, PathBuf};

/// `procfs` in `statfs`, linux/magic.h.
const PROC_SUPER_MAGIC: i64 = 0x9fa0;

/// The directory that holds `proc` and `sys`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    dir: PathBuf,
    live: bool,
}

impl Root {
    /// The machine itself.
    #[must_use]
    pub fn machine() -> Self {
        Self { dir: PathBuf::from("/"), live: true }
    }

    /// `dir/proc` and `dir/sys`: a host's, mounted into an agent's container, or saved files.
    #[must_use]
    pub fn at(dir: &Path) -> Self {
        let live =
            rustix::fs::statfs(dir.join("proc")).is_ok_and(|stat| stat.f_type == PROC_SUPER_MAGIC);
        Self { dir: dir.to_owned(), live }
    }

    /// Whether `proc` is a real procfs; saved files are not, and know nothing of this process.
    #[must_use]
    pub fn live(&self) -> bool {
        self.live
    }

    /// Whether this is the machine's own `/`.
    #[must_use]
    pub fn is_machine(&self) -> bool {
        self.dir == Path::new("/")
    }

    /// A file below `proc`.
    #[must_use]
    pub fn proc(&self, rest: &str) -> PathBuf {
        self.dir.join("proc").join(rest)
    }

    /// An absolute path of the machine, below the root.
    #[must_use]
    pub fn join(&self, absolute: &Path) -> PathBuf {
        self.dir.join(absolute.strip_prefix("/").unwrap_or(absolute))
    }

    /// The path that the machine itself would use for `path`, if it lies below the root.
    #[must_use]
    pub fn strip(&self, path: &Path) -> Option<PathBuf> {
        path.strip_prefix(&self.dir).ok().map(|rest| Path::new("/").join(rest))
    }

    /// Directory in `proc` whose `mountinfo` describes the mounts below this root.
    ///
    /// Through a host's procfs, `self` would be this process with its own mounts, so the host's
    /// first process is asked; saved files are the copy of one process' view, called `self`.
    #[must_use]
    pub fn mounts_of(&self) -> &'static str {
        if self.live && !self.is_machine() { "1" } else { "self" }
    }
}

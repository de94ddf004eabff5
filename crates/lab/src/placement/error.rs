//! Why a workload could not be placed, and what to do about it.

use std::fmt;
use std::io;
use std::path::PathBuf;

use unthrottle_model::{ErrorKind, Explained};
use unthrottle_source::SourceError;

/// Placement failed. What was made before is removed again.
#[derive(Debug, thiserror::Error)]
pub enum PlacementError {
    /// A quota outside of the kernel's range.
    #[error("a quota of {quota_us} us per {period_us} us is outside of what the kernel takes")]
    Quota {
        /// What was asked, us.
        quota_us: u64,
        /// Its period, us.
        period_us: u64,
        /// The largest that would be taken, us.
        max_us: u64,
    },
    /// A period outside of the kernel's range.
    #[error("a period of {period_us} us is outside of what the kernel takes")]
    Period {
        /// What was asked, us.
        period_us: u64,
    },
    /// More burst than quota.
    #[error("a burst of {burst_us} us is larger than the quota of {quota_us} us")]
    Burst {
        /// What was asked, us.
        burst_us: u64,
        /// The quota, us.
        quota_us: u64,
    },
    /// The kernel knows no burst.
    #[error("`{path}` does not exist: this kernel has no burst")]
    NoBurst {
        /// The file.
        path: PathBuf,
    },
    /// v1 refuses a child above its parent.
    #[error("`{path}` cannot have {cores} cores: its parent `{parent}` has {parent_cores}")]
    AboveParent {
        /// The group.
        path: PathBuf,
        /// What was asked, cores.
        cores: f64,
        /// The group above that has less.
        parent: PathBuf,
        /// What it has, cores.
        parent_cores: f64,
    },
    /// Where this process is cannot be found out.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// This process' own identity cannot be read.
    #[error("cannot read who this process is from `/proc/self`")]
    Identity {
        /// The kernel's reason.
        source: io::Error,
    },
    /// Every place was tried.
    #[error("cannot make a quota group: {}", list(tried))]
    NoPlace {
        /// What was tried, in order.
        tried: Vec<Attempt>,
    },
    /// A file of the group refused a value.
    #[error("cannot write `{value}` to `{path}`")]
    Write {
        /// The file.
        path: PathBuf,
        /// The value.
        value: String,
        /// The kernel's reason.
        source: io::Error,
    },
    /// A program could not be started inside the group.
    #[error("cannot start `{program}` inside `{group}`")]
    Spawn {
        /// The program.
        program: String,
        /// The group.
        group: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// Processes did not end although killed.
    #[error("processes in `{path}` do not end: {}", list_pids(pids))]
    Busy {
        /// The group.
        path: PathBuf,
        /// Those that can be seen from here.
        pids: Vec<u32>,
    },
    /// A group could not be removed.
    #[error("cannot remove `{path}`")]
    Remove {
        /// The group.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
}

/// A place that was tried for a group.
#[derive(Debug)]
pub struct Attempt {
    /// The parent it would have had.
    pub dir: PathBuf,
    /// Why not there.
    pub reason: Unsuitable,
}

/// Why a group cannot be made at a place.
#[derive(Debug, thiserror::Error)]
pub enum Unsuitable {
    /// A step was refused.
    #[error("{step}: {source}")]
    Refused {
        /// What was tried, such as `make a group`.
        step: &'static str,
        /// The kernel's reason.
        source: io::Error,
    },
    /// v2: the controller is not handed down this far.
    #[error("its `cgroup.controllers` has no `cpu`")]
    NoController,
    /// v2: a group of the threaded kind.
    #[error("it is a threaded group")]
    Threaded,
}

fn list(tried: &[Attempt]) -> String {
    let each = |Attempt { dir, reason }: &Attempt| format!("below `{}`: {reason}", dir.display());
    tried.iter().map(each).collect::<Vec<_>>().join("; ")
}

fn list_pids(pids: &[u32]) -> String {
    match pids {
        [] => "they cannot be seen from this pid namespace".to_owned(),
        _ => pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
    }
}

impl PlacementError {
    pub(super) fn no_place(dir: PathBuf, step: &'static str, source: io::Error) -> Self {
        Self::NoPlace { tried: vec![Attempt { dir, reason: Unsuitable::Refused { step, source } }] }
    }
}

impl Explained for PlacementError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Quota { .. } | Self::Period { .. } | Self::Burst { .. } => ErrorKind::User,
            Self::AboveParent { .. } => ErrorKind::User,
            Self::Source(source) => source.kind(),
            Self::Spawn { source, .. } => match source.kind() {
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => ErrorKind::User,
                _ => ErrorKind::Machine,
            },
            Self::NoBurst { .. }
            | Self::Identity { .. }
            | Self::NoPlace { .. }
            | Self::Write { .. }
            | Self::Busy { .. }
            | Self::Remove { .. } => ErrorKind::Machine,
        }
    }

    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Quota { max_us, .. } => {
                format!(
                    "a quota is from 1000 us to {max_us} us per period; a larger period allows a smaller limit"
                )
            }
            Self::Period { .. } => {
                "a period is from `1ms` to `1s`; the usual one is `--period 100ms`".to_owned()
            }
            Self::Burst { quota_us, .. } => {
                format!("a burst is at most the quota, here `--burst {quota_us}us`")
            }
            Self::NoBurst { .. } => "leave out `--burst`; it needs Linux 5.14".to_owned(),
            Self::AboveParent { parent_cores, .. } => format!(
                "cgroup v1 refuses a child above its parent, which has {parent_cores} cores: ask for \
                 no more, or run from a group without that limit"
            ),
            Self::Source(source) => return source.hint(),
            Self::Identity { .. } => "mount /proc: `mount -t proc proc /proc`".to_owned(),
            Self::NoPlace { tried } => {
                let root = rustix::process::geteuid().is_root();
                let v1 = tried.iter().any(|each| each.dir.join("cpu.cfs_quota_us").exists());
                no_place_hint(tried, root, v1).to_owned()
            }
            Self::Write { .. } => {
                "see what the groups above allow with `unthrottle explain self`".to_owned()
            }
            Self::Spawn { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "check the name of the program, or give its full path".to_owned()
            }
            Self::Spawn { .. } => return None,
            Self::Busy { .. } | Self::Remove { .. } => {
                "look at its processes in `cgroup.procs`; once they have ended, `unthrottle lab \
                 clean` removes the group"
                    .to_owned()
            }
        };
        Some(text)
    }
}

/// Who is asking decides what helps: a user needs rights, root in a container needs the mount.
fn no_place_hint(tried: &[Attempt], root: bool, v1: bool) -> &'static str {
    let any = |wanted: fn(&Unsuitable) -> bool| tried.iter().any(|each| wanted(&each.reason));
    let read_only = any(|reason| {
        matches!(reason, Unsuitable::Refused { source, .. }
            if source.kind() == io::ErrorKind::ReadOnlyFilesystem)
    });
    let no_controller = any(|reason| matches!(reason, Unsuitable::NoController));
    if read_only {
        "cgroups are mounted read-only, as in most containers: run on the host, or start the \
         container with `--privileged` (Docker, Podman)"
    } else if root {
        "run on the host, or in a container that may write its cgroups (`--privileged`); \
         `unthrottle doctor` shows what is mounted"
    } else if v1 {
        "run as root: `sudo unthrottle ...` (cgroup v1 groups are rarely handed to users)"
    } else if no_controller {
        "run as root, `sudo unthrottle ...`; or let systemd hand the controller to users: write \
         `[Service]` and `Delegate=cpu cpuset io memory pids` to \
         `/etc/systemd/system/user@.service.d/delegate.conf`, run `systemctl daemon-reload`, log \
         in again, then `systemd-run --user --scope -p Delegate=yes unthrottle ...`"
    } else {
        "run as root, `sudo unthrottle ...`, or in a delegated group: `systemd-run --user --scope \
         -p Delegate=yes unthrottle ...`"
    }
}

/// The chain of reasons in one line, for notes and reports.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        fmt::Write::write_fmt(&mut text, format_args!(": {error}")).unwrap_or_default();
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tried(code: i32) -> Vec<Attempt> {
        let source = io::Error::from_raw_os_error(code);
        let reason = Unsuitable::Refused { step: "make a group", source };
        vec![Attempt { dir: PathBuf::from("/c/a"), reason }]
    }

    #[test]
    fn the_hint_fits_who_asks() {
        let denied = || tried(libc::EACCES);
        assert!(no_place_hint(&denied(), false, true).contains("`sudo unthrottle ...`"));
        assert!(!no_place_hint(&denied(), false, true).contains("systemd-run"));
        assert!(no_place_hint(&denied(), false, false).contains("systemd-run --user --scope"));
        assert!(!no_place_hint(&denied(), true, true).contains("sudo"));
        assert!(no_place_hint(&tried(libc::EROFS), true, true).contains("read-only"));
        let mut both = denied();
        both.push(Attempt { dir: PathBuf::from("/c"), reason: Unsuitable::NoController });
        assert!(no_place_hint(&both, false, false).contains("Delegate=cpu"));
        let error = PlacementError::NoPlace { tried: both };
        assert_eq!(
            error.to_string(),
            "cannot make a quota group: below `/c/a`: make a group: Permission denied (os error \
             13); below `/c`: its `cgroup.controllers` has no `cpu`"
        );
        assert_eq!(error.kind(), ErrorKind::Machine);
    }
}

//! What can go wrong where nothing can be said at all.

use std::io;
use std::path::PathBuf;

use unthrottle_model::{ErrorKind, Explained, plain};

/// Errors of this crate. Each names the path or the target it is about.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A file that must be there cannot be read.
    #[error("cannot read `{path}`")]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// No mount carries the cpu controller.
    #[error("no cgroup mount with the cpu controller in `{mountinfo}`")]
    NoCpuController {
        /// The mount table that was read.
        mountinfo: PathBuf,
    },
    /// A path is not visible through any mount.
    #[error(
        "group `{path}` lies outside what the {hierarchy} mount shows (its root is `{mount_root}`)"
    )]
    Outside {
        /// Hierarchy path.
        path: String,
        /// `v1:cpu` or `v2`.
        hierarchy: &'static str,
        /// Root of the mount.
        mount_root: String,
    },
    /// No such group.
    #[error("no group `{path}` in the {hierarchy} hierarchy (looked for `{dir}`)")]
    NoGroup {
        /// Hierarchy path.
        path: String,
        /// `v1:cpu` or `v2`.
        hierarchy: &'static str,
        /// The directory that is not there.
        dir: PathBuf,
    },
    /// No such process.
    #[error("no process {pid}")]
    NoProcess {
        /// Its id.
        pid: u32,
    },
    /// The process has no line for the cpu controller.
    #[error("`{path}` has no line for the cpu controller")]
    NoCpuLine {
        /// The file.
        path: PathBuf,
    },
    /// What was typed is not a target.
    #[error("`{text}` is not a target: {why}")]
    BadTarget {
        /// What was typed.
        text: String,
        /// What is wrong.
        why: String,
        /// What to type.
        hint: String,
    },
    /// Nothing matches.
    #[error("nothing matches `{target}`: {why}")]
    NoMatch {
        /// What was asked for.
        target: String,
        /// Where it was looked for.
        why: String,
        /// What to do.
        hint: String,
    },
    /// Several things match.
    #[error("`{target}` matches {} groups:{}", matches.len(), list(matches))]
    Ambiguous {
        /// What was asked for.
        target: String,
        /// All of them, as targets that are not ambiguous.
        matches: Vec<String>,
    },
}

/// One line each.
fn list(matches: &[String]) -> String {
    matches.iter().map(|each| format!("\n  {}", plain(each))).collect()
}

impl Explained for SourceError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Read { .. } | Self::NoCpuController { .. } | Self::Outside { .. } => {
                ErrorKind::Machine
            }
            Self::NoCpuLine { .. } => ErrorKind::Machine,
            Self::NoGroup { .. }
            | Self::NoProcess { .. }
            | Self::BadTarget { .. }
            | Self::NoMatch { .. }
            | Self::Ambiguous { .. } => ErrorKind::User,
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Read { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                "run as root, or see what is readable with `unthrottle doctor`".to_owned()
            }
            Self::Read { .. } | Self::NoCpuController { .. } => {
                "see what this machine shows with `unthrottle doctor`; in a container, mount the \
                 host's /proc and /sys and name their parent with `--root DIR`"
                    .to_owned()
            }
            Self::Outside { .. } => "this process is in a cgroup namespace or container that hides \
                 the group: run on the host, or mount the host's /proc and /sys and use `--root DIR`"
                .to_owned(),
            Self::NoGroup { .. } => "list the limited groups with `unthrottle top --once`".to_owned(),
            Self::NoProcess { .. } => {
                "check the id with `ps`; in a container only its own processes are seen".to_owned()
            }
            Self::NoCpuLine { .. } => {
                "the cpu controller is off in this kernel or for this process, so no quota applies"
                    .to_owned()
            }
            Self::BadTarget { hint, .. } | Self::NoMatch { hint, .. } => hint.clone(),
            Self::Ambiguous { .. } => "name one of them".to_owned(),
        })
    }
}

//! Why the server did not start, or what it lost.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use unthrottle_model::{ErrorKind, Explained};

/// The workload server could not start, or lost something while it ran.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// No worker would ever accept.
    #[error("`--workers 0` would serve nobody")]
    NoWorkers,
    /// A cost below zero.
    #[error("a cost of {cost_ns} ns per request is below zero")]
    Cost {
        /// What was asked, ns.
        cost_ns: i64,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The kernel's reason.
        source: io::Error,
    },
    /// The log cannot be created, or rows of it were lost.
    #[error("cannot write the request log `{path}`")]
    Log {
        /// The file.
        path: PathBuf,
        /// The kernel's reason.
        source: io::Error,
    },
    /// A worker thread could not be started.
    #[error("cannot start worker {worker}")]
    Thread {
        /// Number of the worker, from 0.
        worker: usize,
        /// The kernel's reason.
        source: io::Error,
    },
    /// A worker ended by a panic.
    #[error("{workers} workers died")]
    Died {
        /// How many.
        workers: usize,
    },
}

impl Explained for ServeError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoWorkers | Self::Cost { .. } | Self::Listen { .. } => ErrorKind::User,
            Self::Log { source, .. } => match source.kind() {
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => ErrorKind::Machine,
                _ => ErrorKind::User,
            },
            Self::Thread { .. } => ErrorKind::Machine,
            Self::Died { .. } => ErrorKind::Bug,
        }
    }

    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::NoWorkers => "give at least one, for instance `--workers 4`".to_owned(),
            Self::Cost { .. } => "give a span such as `--cost 20ms`".to_owned(),
            Self::Listen { address, source } => match source.kind() {
                io::ErrorKind::AddrInUse => format!(
                    "something listens there already (`ss -ltnp 'sport = :{}'` shows it); take a \
                     free port with `--listen 127.0.0.1:0`",
                    address.port()
                ),
                io::ErrorKind::PermissionDenied => {
                    "ports below 1024 need root; take another, for instance `--listen \
                     127.0.0.1:8080`"
                        .to_owned()
                }
                _ => "`ip -brief address` lists this machine's addresses; `--listen 127.0.0.1:0` \
                      always works"
                    .to_owned(),
            },
            Self::Log { .. } => {
                "give `--log` a file in a directory that exists, can be written and has room"
                    .to_owned()
            }
            Self::Thread { .. } => {
                "ask for fewer `--workers`, or raise the limit (`ulimit -u`, `pids.max` of the \
                 group)"
                    .to_owned()
            }
            Self::Died { .. } => return None,
        };
        Some(text)
    }
}

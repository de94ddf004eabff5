//! Every read of the machine: mounts, groups, counters, targets, host facts.
//!
//! The only crate that reads /proc and /sys. It cannot change a limit. What cannot be read is a
//! loss with its reason in the data; an error is returned only where nothing can be said at all.

pub mod below;
pub mod capabilities;
pub mod cgroup;
pub mod classify;
pub mod clock;
pub mod error;
pub mod host;
pub mod mounts;
pub mod namespace;
pub mod open_files;
pub mod priority;
pub mod process;
pub mod read;
pub mod root;
pub mod scan;
pub mod sweep;
pub mod target;
pub mod threads;
pub mod watch;

pub use clock::{Stop, monotonic_ns, realtime_ns};
pub use error::SourceError;
pub use root::Root;

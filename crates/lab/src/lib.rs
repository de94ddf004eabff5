//! Experiments on the real kernel: a workload server, open-loop load, placement in a quota group.
//!
//! The only crate that writes to a cgroup. What it changes it undoes: at the end, on error, on
//! panic and on SIGINT or SIGTERM; after SIGKILL the next start, or `lab clean`, does.

pub mod load;
pub mod placement;
pub mod serve;

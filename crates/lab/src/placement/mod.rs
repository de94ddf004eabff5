//! Placement: a workload in a quota group of its own. The only code that writes to a cgroup.
//!
//! A [`Guard`] owns one group below the current one, sets its limit, moves children in before they
//! run, and takes everything back: in [`Guard::remove`], on error, and in `Drop`, so also on a
//! panic. It installs no signal handler: the caller's `Stop` turns SIGINT and SIGTERM into an
//! ordinary end, at which the guard is dropped. After SIGKILL nobody can clean up at once: the
//! kernel kills the children ([`Guard::spawn`]), and the group, named after its owner
//! ([`name`]), is recognised as stale and removed by the next guard or by [`clean`](clean()).
//!
//! Failure: without permission the error says what was tried and how to get it; nothing half made
//! is left behind.

mod clean;
mod cpuset;
mod error;
mod guard;
mod kill;
mod limit;
pub mod name;
mod place;
mod process;
mod spec;
mod tree;
mod unified;

pub use clean::{CleanReport, Kept, clean, roots};
pub use error::{Attempt, PlacementError, Unsuitable};
pub use guard::{Dirs, Guard, Removed};
pub use place::Place;
pub use process::Process;
pub use spec::{GroupSpec, Weight};

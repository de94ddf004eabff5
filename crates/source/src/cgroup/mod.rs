//! Groups: their files, their limits, their counters, every level on the way up.

mod chain;
mod cpuset;
mod group;
pub mod parse;

pub use chain::Chain;
pub use cpuset::Cpuset;
pub use group::{Group, Reading};

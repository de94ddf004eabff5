//! The real command over made-up machines, as any user: what it prints, how it ends.
//!
//! Nothing of the real machine is read but the clock, and no group is made.
#![expect(clippy::expect_used, clippy::panic, reason = "a helper that fails fails its test")]

mod contract;
mod doctor;
mod ends;
mod explain;
mod fail_on;
mod garbage;
mod help;
mod hostile;
mod losses;
mod pipes;
mod requests;
mod support;
mod top;
mod usage;

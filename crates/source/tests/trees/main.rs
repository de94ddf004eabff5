//! What is read from made-up machines: mounts, levels, limits, counters, targets, watches.
//!
//! Many of the machines are situations that people reported in public; `C017` and the like name the
//! collected case. Any user can run these: nothing of the real machine is touched.
#![expect(clippy::expect_used, clippy::panic, reason = "a helper that fails fails its test")]

mod container_views;
mod contention;
mod discovery;
mod effective;
mod errors;
mod levels;
mod lives;
mod other_mounts;
mod parsers;
mod saved_hosts;
mod support;
mod targets;
mod typed;
mod units;
mod usage;
mod watched;

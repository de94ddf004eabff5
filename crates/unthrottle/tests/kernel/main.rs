//! Tests on this machine's own kernel, as root: real v1 groups with real quotas, real processes, a
//! real Docker Engine. One at a time, as they load the machine.
#![expect(clippy::expect_used, clippy::panic, reason = "a helper that fails fails its test")]

mod contention;
mod counters;
mod demo;
mod docker;
mod lab;
mod levels;
mod lives;
mod support;
mod user;

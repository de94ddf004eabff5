//! The guard on the real kernel: cgroup v1, as root, one test at a time.
#![allow(clippy::expect_used, clippy::print_stdout, reason = "helpers of tests, not the product")]

mod children;
mod killed;
mod limits;
mod namespace;
mod permission;
mod removal;
mod support;
mod unified;

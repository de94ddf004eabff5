//! Help for tests, and for nothing else: machines that do not exist, and machines that may.
//!
//! [`FakeTree`] writes the files of a /proc and a /sys; [`gate`] says whether this machine can run
//! a test and counts what it cannot; [`docker`] is a real, private Docker Engine;
//! [`drop_privileges`] runs a binary as nobody; [`alone`] keeps tests of the kernel apart.
//!
//! Where a helper fails, the test fails: everything here panics with a sentence that says why.
#![expect(clippy::panic, reason = "a helper that fails fails its test")]

pub mod alone;
pub mod docker;
pub mod drop_privileges;
pub mod gate;
mod group;
mod hierarchies;
pub mod real_group;
mod tree;

pub use group::Group;
pub use tree::FakeTree;

/// The value, or a failed test that says what was tried.
#[track_caller]
fn must<T, E: std::fmt::Display>(result: Result<T, E>, what: &dyn std::fmt::Display) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{what}: {error}"),
    }
}

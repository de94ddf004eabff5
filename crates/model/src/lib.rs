//! The words, units and rows that every other crate shares.
//!
//! Pure: nothing here opens a file, reads a clock, prints or uses `unsafe`. Times are `i64`
//! nanoseconds of `CLOCK_MONOTONIC` and say so in their names (`_ns`); wall-clock time appears only
//! as [`rows::ClockRow`]. Raw fields keep the kernel's own word (`nr_throttled`), derived ones ours.

#![forbid(unsafe_code)]

pub mod arrivals;
pub mod capabilities;
pub mod cpuset;
pub mod error;
pub mod limit;
mod plain;
pub mod recording;
pub mod requests;
pub mod rows;
pub mod units;

pub use error::{ErrorKind, Explained};
pub use limit::{CpuLimit, Quota};
pub use plain::plain;
pub use recording::{Batch, Meta, Recording};

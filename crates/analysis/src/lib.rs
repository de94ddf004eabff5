//! From a recording to facts with evidence.
//!
//! Pure: no clock, no file, no wording. The results are plain structs with public fields, in
//! integers where the kernel counts in integers; the report decides how they read. A live watch and
//! a recording of it give the same facts, because both are rows.

#![forbid(unsafe_code)]

pub mod compare;
pub mod delta;
pub mod explain;
pub mod findings;
pub mod invariants;
pub mod latency;
pub mod level;
pub mod losses;
pub mod machine;
pub mod rank;
pub mod stats;
pub mod windows;

pub use explain::{Explanation, Verdict, explain};
pub use findings::{Check, Finding, FindingVerdict};
pub use unthrottle_model as model;

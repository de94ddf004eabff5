//! The JSON contract: what others may rely on. Every number has its unit in its name; what was not
//! measured is `null`, with its reason in `losses`.

mod build;
pub mod doctor;
pub mod explain;
mod words;

pub use build::{explain, replace_loss};
pub use doctor::{Doctor, doctor};
pub use explain::Explain;

/// Name and JSON Schema of every document this crate writes.
#[must_use]
pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
    vec![("doctor", schemars::schema_for!(Doctor)), ("explain", schemars::schema_for!(Explain))]
}

//! The JSON contract: what others may rely on. Every number has its unit in its name; what was not
//! measured is `null`, with its reason in `losses`.

mod build;
mod demo;
mod doctor;
pub mod explain;
mod load;
pub mod requests;
mod summary;
mod top;
mod words;

pub use build::{explain, replace_loss};
pub use demo::{Demo, DemoFacts, demo};
pub use doctor::{Check, Doctor, Status, doctor};
pub use explain::Explain;
pub use load::{Load, LoadFacts, load};
pub use top::{Top, TopGroup, top};

/// ns as ms.
fn ms(ns: i64) -> f64 {
    ns as f64 / 1e6
}

/// Name and JSON Schema of every document this crate writes.
#[must_use]
pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
    vec![
        ("demo", schema::<Demo>()),
        ("doctor", schema::<Doctor>()),
        ("explain", schema::<Explain>()),
        ("load", schema::<Load>()),
        ("top", schema::<Top>()),
    ]
}

/// Of what is written: a field that may be null is there all the same.
fn schema<T: schemars::JsonSchema>() -> schemars::Schema {
    let settings = schemars::generate::SchemaSettings::default().for_serialize();
    settings.into_generator().into_root_schema_for::<T>()
}

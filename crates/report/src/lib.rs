//! Results as text and JSON.
//!
//! Pure: returns strings, prints nothing. All wording is here. Each result is first put into its
//! contract (the structs that are the JSON), and the text is written from the contract, so that the
//! two cannot say different things.

#![forbid(unsafe_code)]

pub mod contract;
pub mod text;

/// A contract as JSON, with a line end.
///
/// # Errors
/// If it cannot be encoded, which would be a defect.
pub fn json<T: serde::Serialize>(contract: &T) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(contract).map(|text| text + "\n")
}

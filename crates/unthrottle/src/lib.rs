//! `unthrottle`: watch a target, explain what its CPU limit did to it.
//!
//! The front door to the crates behind it, in the order of the story:
//! [`session::watch`] fills a recording, [`unthrottle_analysis::explain()`] turns it into facts,
//! [`unthrottle_report`] into text or JSON. [`experiment`] makes the load and the limit to try it on.

pub mod cli;
pub mod commands;
pub mod error;
pub mod experiment;
pub mod files;
pub mod session;

pub use error::Error;
pub use unthrottle_analysis as analysis;
pub use unthrottle_lab as lab;
pub use unthrottle_model as model;
pub use unthrottle_report as report;
pub use unthrottle_source as source;

//! What is written for any recording: JSON that fits its schema, text that fits a terminal.
//!
//! Recordings are input (files of other machines, names that somebody chose), so they are made up
//! here without mercy: counters that no kernel writes, names that would steer a terminal.
#![expect(clippy::expect_used, reason = "a helper that fails fails its test")]

mod any_recording;
mod documents;
mod text;
mod words;

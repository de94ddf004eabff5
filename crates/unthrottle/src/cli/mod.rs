//! The command line: what was typed, who runs it, how it ends.

pub mod args;
mod exit;
pub mod output;
pub mod progress;

use std::process::ExitCode;

use clap::Parser;
use unthrottle_source::Stop;

use crate::commands;
pub use exit::Exit;

/// Parses, runs, reports; the whole program.
#[must_use]
pub fn main() -> ExitCode {
    let args = match args::Args::try_parse() {
        Ok(args) => args,
        Err(error) => return exit::of_usage(&error),
    };
    let stop = Stop::default();
    if let Err(error) = exit::on_signals(&stop) {
        output::talk(&format!("warning: signals are not caught: {error}\n"));
    }
    exit::of(commands::run(&args, &stop))
}

//! The commands, each in its own file: from typed arguments to an exit.

mod doctor;
mod explain;
mod fail_on;

use unthrottle_source::Stop;

use crate::cli::Exit;
use crate::cli::args::{Args, Command};
use crate::error::Error;
pub use fail_on::FailOn;

/// Runs what was asked for.
///
/// # Errors
/// As the command says.
pub fn run(args: &Args, stop: &Stop) -> Result<Exit, Error> {
    let root = args.root();
    match &args.command {
        Command::Doctor(options) => doctor::run(&root, options),
        Command::Explain(options) => explain::run(&root, options, stop),
        _ => Ok(Exit::Fine),
    }
}

/// Writes a result to stdout.
///
/// # Errors
/// If stdout cannot be written, such as a full disk behind a redirection.
pub(crate) fn print(text: &str) -> Result<(), Error> {
    crate::cli::output::data(text).map_err(|source| {
        crate::error::FileError { what: "write", path: "/dev/stdout".into(), source }.into()
    })
}

//! The commands, each in its own file: from typed arguments to an exit.

mod demo;
mod doctor;
mod explain;
mod fail_on;
mod lab;
mod top;

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
    if args.root.is_some() && matches!(args.command, Command::Lab(_) | Command::Demo(_)) {
        return Err(Error::user(
            "`--root` names files to read; `lab` and `demo` run on this machine's own kernel",
            "leave `--root` out",
        ));
    }
    match &args.command {
        Command::Doctor(options) => doctor::run(&root, options),
        Command::Explain(options) => explain::run(&root, options, stop),
        Command::Top(options) => top::run(&root, options, stop),
        Command::Lab(options) => lab::run(&options.command, stop),
        Command::Demo(options) => demo::run(options, stop),
    }
}

/// Writes a result to stdout; `false` if nobody reads on.
///
/// # Errors
/// If stdout cannot be written, such as a full disk behind a redirection.
pub(crate) fn print(text: &str) -> Result<bool, Error> {
    crate::cli::output::data(text).map_err(|source| {
        crate::files::FileError { what: "write", path: "/dev/stdout".into(), source }.into()
    })
}

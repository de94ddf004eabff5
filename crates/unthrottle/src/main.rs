//! The `unthrottle` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    unthrottle::cli::main()
}

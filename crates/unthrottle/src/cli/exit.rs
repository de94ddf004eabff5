//! Exit codes: 0 fine, 1 finding above the asked threshold, 2 user's mistake, 3 the machine cannot
//! show what was asked, 4 bug; 130 and 143 after SIGINT and SIGTERM where the work was cut short.

use std::io;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use unthrottle_model::{ErrorKind, plain};
use unthrottle_source::Stop;

use super::output;
use crate::error::Error;

/// How a command ended that did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// It did what was asked.
    Fine,
    /// A finding is above the threshold of `--fail-on`.
    Finding,
    /// What was asked could not be measured.
    NotMeasured,
    /// It was cut short by a signal.
    Interrupted,
    /// The code of a child that did the work.
    Code(u8),
}

static SIGNAL: AtomicUsize = AtomicUsize::new(0);

/// Lets SIGINT, SIGTERM and SIGHUP ask for a stop, so that everything is undone on the way out.
///
/// # Errors
/// The system's refusal to install a handler.
pub fn on_signals(stop: &Stop) -> std::io::Result<()> {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.flag())?;
        // SAFETY: storing to an atomic is async-signal-safe.
        unsafe {
            signal_hook::low_level::register(signal, move || {
                SIGNAL.store(signal as usize, Ordering::SeqCst);
            })?;
        }
    }
    Ok(())
}

/// The code of a finished command; prints its error.
pub fn of(result: Result<Exit, Error>) -> ExitCode {
    match result {
        Ok(Exit::Fine) => ExitCode::SUCCESS,
        Ok(Exit::Finding) => ExitCode::from(1),
        Ok(Exit::NotMeasured) => ExitCode::from(3),
        Ok(Exit::Interrupted) => {
            let signal = u8::try_from(SIGNAL.load(Ordering::SeqCst)).unwrap_or(2);
            ExitCode::from(128 + signal)
        }
        Ok(Exit::Code(code)) => ExitCode::from(code),
        Err(error) => {
            output::talk(&error.lines());
            ExitCode::from(match error.kind() {
                ErrorKind::User => 2,
                ErrorKind::Machine => 3,
                ErrorKind::Bug => 4,
            })
        }
    }
}

/// The code of a command line that does not parse, or that asked for help.
pub fn of_usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        // It repeats what was typed, which may come from anywhere.
        let text = error.render().to_string();
        output::talk(&text.split('\n').map(plain).collect::<Vec<_>>().join("\n"));
    } else if let Err(error) = error.print()
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        output::talk(&format!("error: cannot write `/dev/stdout`\n  cause: {error}\n"));
        return ExitCode::from(2);
    }
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

//! Data on stdout, talk on stderr. The only place that writes to either.

use std::io::{self, Write};

/// Writes data. A closed pipe (`| head`) is no error, but `false`: nobody reads on.
///
/// # Errors
/// The system's, such as a full disk behind a redirection.
pub fn data(text: &str) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        other => other.map(|()| true),
    }
}

/// Writes talk. If nobody listens, so be it.
pub fn talk(text: &str) {
    let mut err = io::stderr().lock();
    let _ = err.write_all(text.as_bytes());
    let _ = err.flush();
}

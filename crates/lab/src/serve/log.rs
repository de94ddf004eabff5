//! The request log: what each request really used, for tests.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::{Mode, OFlags};

/// First line of the log. Times are ns of `CLOCK_MONOTONIC`.
///
/// - `worker`: number of the thread, from 0.
/// - `accepted_ns`: `accept` returned; on a reused connection, the request's first bytes were read.
/// - `begin_ns`, `end_ns`: the burn, that is after the request was read to its end and before the
///   answer is written.
/// - `cpu_ns`: the thread's CPU time from `accepted_ns` (on a reused connection: from the previous
///   row) to just before this row was written, answer and close included.
pub const LOG_HEADER: &str = "worker,accepted_ns,begin_ns,end_ns,cpu_ns";

/// One request that was answered.
pub(super) struct Row {
    pub(super) worker: usize,
    pub(super) accepted_ns: i64,
    pub(super) begin_ns: i64,
    pub(super) end_ns: i64,
    pub(super) cpu_ns: i64,
}

/// One appending write per row: rows of several threads do not mix, and SIGKILL loses none that
/// was written.
#[derive(Debug)]
pub(super) struct Log {
    path: PathBuf,
    file: File,
    lost: OnceLock<io::Error>,
}

impl Log {
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        // By hand because the standard library refuses to truncate and append at once.
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::APPEND | OFlags::CLOEXEC;
        let fd = rustix::fs::open(path, flags, Mode::from_raw_mode(0o644))?;
        let log = Self { path: path.to_owned(), file: fd.into(), lost: OnceLock::new() };
        log.line(format!("{LOG_HEADER}\n"))?;
        Ok(log)
    }

    /// Never stops the service: the first failure is kept for the end.
    pub(super) fn write(&self, row: &Row) {
        let Row { worker, accepted_ns, begin_ns, end_ns, cpu_ns } = row;
        let line = format!("{worker},{accepted_ns},{begin_ns},{end_ns},{cpu_ns}\n");
        if let Err(error) = self.line(line) {
            let _only_the_first = self.lost.set(error);
        }
    }

    fn line(&self, line: String) -> io::Result<()> {
        // `write_all` would send the rest of a short write as a second one, after other rows.
        match (&self.file).write(line.as_bytes()) {
            Ok(written) if written == line.len() => Ok(()),
            Ok(_) => Err(io::ErrorKind::WriteZero.into()),
            Err(error) => Err(error),
        }
    }

    /// The file and the first failure, if a row was lost.
    pub(super) fn into_lost(self) -> Option<(PathBuf, io::Error)> {
        self.lost.into_inner().map(|error| (self.path, error))
    }
}

//! Files that the user names: input is read whole up to a cap, output never replaces a good file by
//! half of one.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use unthrottle_model::{ErrorKind, Explained};

/// Largest input read whole, bytes: a log of tens of millions of lines. Named devices and pipes may
/// have no end.
const CAP: u64 = 1 << 30;

/// A file of the user's that cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("cannot {what} `{path}`")]
pub struct FileError {
    /// `read` or `write`.
    pub what: &'static str,
    /// Which.
    pub path: PathBuf,
    /// Why.
    #[source]
    pub source: io::Error,
}

impl Explained for FileError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::User
    }
    fn hint(&self) -> Option<String> {
        Some("check that the path is right and that you may use it".to_owned())
    }
}

/// Reads a text file whole.
///
/// # Errors
/// If it cannot be read, is no text, or is larger than the cap.
pub fn read(path: &Path) -> Result<String, FileError> {
    let fail = |source| FileError { what: "read", path: path.to_owned(), source };
    let mut text = String::new();
    // Opening a pipe without a writer would wait for ever, and no signal would end it.
    if !std::fs::metadata(path).map_err(fail)?.is_file() {
        return Err(fail(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")));
    }
    let file = File::open(path).map_err(fail)?;
    let size = file.take(CAP + 1).read_to_string(&mut text).map_err(fail)?;
    if size as u64 > CAP {
        return Err(fail(io::Error::new(io::ErrorKind::FileTooLarge, "it is larger than 1 GiB")));
    }
    Ok(text)
}

/// Where a file is written before it takes its place.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".tmp");
    PathBuf::from(name)
}

/// Finds out now whether [`write()`] could make its file, not after the work.
///
/// # Errors
/// If it could not.
pub fn try_write(path: &Path) -> Result<(), FileError> {
    let beside = beside(path);
    let made = if path.is_dir() {
        Err(io::ErrorKind::IsADirectory.into())
    } else {
        File::create(&beside).and_then(|_| std::fs::remove_file(&beside))
    };
    made.map_err(|source| FileError { what: "write", path: path.to_owned(), source })
}

/// Writes a file whole: beside its place first, then renamed.
///
/// # Errors
/// If it cannot be written; what stood there before still does.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), FileError> {
    let beside = beside(path);
    let result = std::fs::write(&beside, bytes).and_then(|()| std::fs::rename(&beside, path));
    result.map_err(|source| {
        let _ = std::fs::remove_file(&beside);
        FileError { what: "write", path: path.to_owned(), source }
    })
}

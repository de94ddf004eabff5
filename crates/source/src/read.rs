//! Small kernel files: read whole once, or again and again through a kept descriptor.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::SourceError;

/// More than any file that is read here needs; a cap, because fixtures and odd mounts are input.
const CAP: usize = 1 << 20;

/// Reads a small text file whole. Bytes that are not UTF-8 are replaced.
///
/// # Errors
/// With the path, if it cannot be read.
pub fn text(path: &Path) -> Result<String, SourceError> {
    try_text(path).map_err(|source| SourceError::Read { path: path.to_owned(), source })
}

/// Like [`text`], for files whose absence is an answer.
///
/// # Errors
/// The plain error of the system.
pub fn try_text(path: &Path) -> io::Result<String> {
    use io::Read;
    let mut bytes = Vec::with_capacity(4096);
    File::open(path)?.take(CAP as u64).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// A file that is read again and again: one `pread` a read, about a fifth of open + read + close.
#[derive(Debug)]
pub struct Kept {
    file: File,
}

impl Kept {
    /// Opens the file; `None` if it is not there or may not be read.
    #[must_use]
    pub fn open(path: &Path) -> Option<Self> {
        File::open(path).ok().map(|file| Self { file })
    }

    /// Its text now, in `buffer`. kernfs makes the content anew for a read at offset 0.
    ///
    /// # Errors
    /// `ENODEV` when the group behind the file is gone.
    pub fn read<'a>(&self, buffer: &'a mut Vec<u8>) -> io::Result<&'a str> {
        buffer.resize(buffer.capacity().max(4096), 0);
        let mut filled = 0;
        loop {
            let count = match self.file.read_at(&mut buffer[filled..], filled as u64) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            filled += count;
            if count == 0 || filled >= CAP {
                break;
            }
            if filled == buffer.len() {
                buffer.resize(buffer.len() * 2, 0);
            } else {
                // kernfs fills what it has in one read; asking again would cost a second call.
                break;
            }
        }
        let bytes = &buffer[..filled];
        std::str::from_utf8(bytes)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
    }
}

//! What every error of the project can say about itself beside its text.

/// Whose business an error is; decides the exit code of the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// A wrong flag, path or file: exit code 2.
    User,
    /// This machine, or these privileges, cannot show what was asked: exit code 3.
    Machine,
    /// A defect of this program: exit code 4.
    Bug,
}

/// An error that knows its kind and the next step.
///
/// Texts are lower-case fragments with literals in backticks; the hint is a sentence of its own
/// that names the exact next command where there is one.
pub trait Explained: std::error::Error {
    /// Whose business this is.
    fn kind(&self) -> ErrorKind;
    /// What to do next, if anything can be said.
    fn hint(&self) -> Option<String> {
        None
    }
}

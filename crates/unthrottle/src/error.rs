//! The one error type of the commands: text, cause chain, hint, exit code.

use std::error::Error as StdError;

use unthrottle_model::{ErrorKind, Explained};

/// An error as a command shows it.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    source: Box<dyn StdError + Send + Sync>,
    hint: Option<String>,
}

impl Error {
    /// A mistake of the user's, with the next step.
    pub fn user(text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind: ErrorKind::User, source: text.into().into(), hint: Some(hint.into()) }
    }

    /// The machine cannot do or show it.
    pub fn machine(text: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Machine, source: text.into().into(), hint: Some(hint.into()) }
    }

    /// Whose business it is.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// `error: ...`, each cause, `hint: ...`, as lines.
    #[must_use]
    pub fn lines(&self) -> String {
        // A list of matches has lines of its own; whatever else steers a terminal is taken out.
        let plain = |error: &dyn std::fmt::Display| {
            let text = error.to_string();
            text.split('\n').map(unthrottle_model::plain).collect::<Vec<_>>().join("\n")
        };
        let mut text = format!("error: {}\n", plain(&self.source));
        let mut cause = self.source.source();
        while let Some(each) = cause {
            text += &format!("  cause: {}\n", plain(&each));
            cause = each.source();
        }
        if self.kind == ErrorKind::Bug {
            text +=
                "hint: this is a defect of unthrottle; please report it with the command you ran\n";
        } else if let Some(hint) = &self.hint {
            text += &format!("hint: {}\n", plain(hint));
        }
        text
    }
}

impl<E: Explained + Send + Sync + 'static> From<E> for Error {
    fn from(error: E) -> Self {
        Self { kind: error.kind(), hint: error.hint(), source: Box::new(error) }
    }
}

/// JSON that cannot be encoded.
#[derive(Debug, thiserror::Error)]
#[error("cannot encode the result")]
pub struct EncodeError(#[from] pub serde_json::Error);

impl Explained for EncodeError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Bug
    }
}

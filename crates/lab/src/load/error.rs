//! What stops a load from being made at all.

use std::io;

use unthrottle_model::{ErrorKind, Explained};

/// An address that cannot be loaded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    /// TLS is not spoken.
    #[error("`{url}`: TLS is not spoken, only plain HTTP/1.1")]
    Tls {
        /// What was typed.
        url: String,
    },
    /// No scheme, or another one.
    #[error("`{url}` does not begin with `http://`")]
    Scheme {
        /// What was typed.
        url: String,
    },
    /// Some part is wrong.
    #[error("`{url}`: {what}")]
    Part {
        /// What was typed.
        url: String,
        /// What is wrong with it.
        what: String,
    },
}

impl Explained for UrlError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::User
    }
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Tls { .. } => {
                "load the plain port behind the proxy that ends TLS, or put one in \
                                 front, such as `socat TCP-LISTEN:8081,fork,reuseaddr \
                                 OPENSSL:HOST:443`, and load `http://127.0.0.1:8081/`"
                    .to_owned()
            }
            Self::Scheme { url } if !url.contains("://") => format!("write `http://{url}`"),
            Self::Scheme { .. } | Self::Part { .. } => {
                "write for instance `http://127.0.0.1:8080/path`, `http://[::1]:8080/` or \
                 `http://name/`"
                    .to_owned()
            }
        })
    }
}

/// Why no load could be made.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The address cannot be used.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The host's name has no address.
    #[error("host `{host}` cannot be resolved")]
    Resolve {
        /// The name.
        host: String,
        /// What the resolver said.
        source: io::Error,
    },
    /// A field of the plan makes no sense.
    #[error("load plan: {field} {what}")]
    Plan {
        /// The field of the plan.
        field: &'static str,
        /// What is wrong with it.
        what: String,
    },
    /// The kernel refused what the generator stands on.
    #[error("{what} failed")]
    System {
        /// What was tried.
        what: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
}

impl Explained for LoadError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::Url(error) => error.kind(),
            Self::Resolve { .. } | Self::Plan { .. } => ErrorKind::User,
            Self::System { .. } => ErrorKind::Machine,
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::Url(error) => error.hint(),
            Self::Resolve { host, .. } => Some(format!(
                "check the name with `getent ahosts {host}`, or use the address itself"
            )),
            Self::Plan { field, .. } => Some(plan_hint(field).to_owned()),
            Self::System { .. } => Some(
                "look at the limits of this process with `ulimit -a` (open files, processes)"
                    .to_owned(),
            ),
        }
    }
}

/// What to type instead, by the field of the plan.
fn plan_hint(field: &str) -> &'static str {
    match field {
        "method" => "give a word, such as `--method GET`",
        "header" => "give a name and a value, such as `--header 'Accept: text/plain'`",
        "max in flight" => "give at least `--max-in-flight 1`",
        "timeout" => "give a span, such as `--timeout 30s`",
        "connections" => "give `--connections new` or a pool such as `--connections pool:16`",
        _ => "change `--arrivals` or `--for`",
    }
}

//! The limit of open files: each watched group keeps a handful open.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit of this process to its hard one. If that is refused, files that cannot be
/// opened are counted as unreadable later.
pub fn raise() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

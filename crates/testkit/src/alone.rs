//! Keeps tests that measure the kernel apart, within a test binary and between binaries.

use std::fs::File;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rustix::fs::FlockOperation;

use crate::must;

static WITHIN: Mutex<()> = Mutex::new(());

/// Held while a test has the machine to itself; ends when it is dropped.
#[derive(Debug)]
pub struct Alone {
    _between: File,
    _within: MutexGuard<'static, ()>,
}

/// Waits until no other test that asked for this is running, on this machine, as this user.
///
/// A test that failed while it was alone does not fail the next.
#[must_use]
pub fn alone() -> Alone {
    let within = WITHIN.lock().unwrap_or_else(PoisonError::into_inner);
    // One file a user: another user could not open it, and need not wait.
    let user = rustix::process::geteuid().as_raw();
    let path = std::env::temp_dir().join(format!("unthrottle-tests-{user}.lock"));
    let file = must(File::create(&path), &path.display());
    must(rustix::fs::flock(&file, FlockOperation::LockExclusive), &path.display());
    Alone { _between: file, _within: within }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn only_one_is_alone_at_a_time() {
        static INSIDE: AtomicUsize = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let _alone = alone();
                    assert_eq!(INSIDE.fetch_add(1, Ordering::SeqCst), 0);
                    std::thread::sleep(std::time::Duration::from_millis(5));
                    INSIDE.fetch_sub(1, Ordering::SeqCst);
                });
            }
        });
        assert_eq!(INSIDE.load(Ordering::SeqCst), 0);
    }
}

//! The two clocks, and the request to stop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Now on `CLOCK_MONOTONIC`, ns: the time of every row.
#[must_use]
pub fn monotonic_ns() -> i64 {
    now_ns(ClockId::Monotonic)
}

/// Now on `CLOCK_REALTIME`, ns since 1970: used only for offsets between the clocks.
#[must_use]
pub fn realtime_ns() -> i64 {
    now_ns(ClockId::Realtime)
}

fn now_ns(clock: ClockId) -> i64 {
    let time = clock_gettime(clock);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// A request to stop, shared between threads and signal handlers.
///
/// Setting it is one atomic store, so a signal handler may do it. Whoever waits looks every
/// [`Stop::LOOK_EVERY`].
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// How soon a waiting thread sees the request.
    pub const LOOK_EVERY: Duration = Duration::from_millis(50);

    /// The flag itself, for `signal_hook::flag::register`.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Asks everyone to stop.
    pub fn request(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether a stop was asked for.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    /// Sleeps until `deadline_ns` on `CLOCK_MONOTONIC`; returns early, with `true`, when asked to
    /// stop.
    #[must_use]
    pub fn sleep_until(&self, deadline_ns: i64) -> bool {
        loop {
            if self.requested() {
                return true;
            }
            let left = deadline_ns - monotonic_ns();
            if left <= 0 {
                return false;
            }
            std::thread::sleep(Duration::from_nanos(left.unsigned_abs()).min(Self::LOOK_EVERY));
        }
    }
}

//! Real-time priority for threads of our own that must not be late.

/// Gives the calling thread `SCHED_FIFO` at `priority` (1 to 99).
///
/// The kernel resets it in children (`SCHED_RESET_ON_FORK`), so a workload that is started later
/// does not inherit it.
///
/// # Errors
/// The kernel's refusal: no privilege, or a v1 group without real-time runtime of its own.
pub fn real_time(priority: i32) -> std::io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: `parameters` lives through the call; pid 0 is the calling thread.
    let result = unsafe {
        libc::sched_setscheduler(
            0,
            libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK,
            std::ptr::from_ref(&parameters),
        )
    };
    if result == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

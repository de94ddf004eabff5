//! A child inside a group.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A child that a guard started. A handle: the guard keeps its own, and ends the child when it is
/// removed, whether or not this one still exists.
#[derive(Debug, Clone)]
pub struct Process {
    pid: u32,
    child: Arc<Mutex<Child>>,
}

impl Process {
    pub(super) fn start(mut command: Command, entrances: Vec<OwnedFd>) -> io::Result<Self> {
        let parent = std::process::id().cast_signed();
        // SAFETY: `enter` makes only async-signal-safe calls and allocates nothing.
        unsafe {
            command.pre_exec(move || enter(&entrances, parent));
        }
        let child = command.spawn()?;
        Ok(Self { pid: child.id(), child: Arc::new(Mutex::new(child)) })
    }

    /// Its process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// How it ended, if it has.
    ///
    /// # Errors
    /// The kernel's, from `waitpid`.
    pub fn try_wait(&self) -> io::Result<Option<ExitStatus>> {
        self.lock().try_wait()
    }

    /// Waits for its end, at most `patience`; `None` if it still runs.
    ///
    /// # Errors
    /// The kernel's, from `waitpid`.
    pub fn wait_for(&self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let begin = Instant::now();
        loop {
            let status = self.try_wait()?;
            let left = patience.saturating_sub(begin.elapsed());
            if status.is_some() || left.is_zero() {
                return Ok(status);
            }
            std::thread::sleep(left.min(Duration::from_millis(5)));
        }
    }

    /// Asks it to end (SIGTERM). Nothing happens if it has ended.
    ///
    /// # Errors
    /// The kernel's refusal.
    pub fn terminate(&self) -> io::Result<()> {
        // Under the lock nobody can wait for it, so its pid is its own.
        let mut child = self.lock();
        if child.try_wait()?.is_some() {
            return Ok(());
        }
        match Pid::from_raw(self.pid.cast_signed()) {
            Some(pid) => Ok(kill_process(pid, Signal::TERM)?),
            None => Ok(()),
        }
    }

    /// Its input, if piped and not taken before.
    #[must_use]
    pub fn take_stdin(&self) -> Option<ChildStdin> {
        self.lock().stdin.take()
    }

    /// Its output, if piped and not taken before.
    #[must_use]
    pub fn take_stdout(&self) -> Option<ChildStdout> {
        self.lock().stdout.take()
    }

    /// Its errors, if piped and not taken before.
    #[must_use]
    pub fn take_stderr(&self) -> Option<ChildStderr> {
        self.lock().stderr.take()
    }

    /// Kills it, wherever it has gone, and waits.
    pub(super) fn kill(&self) {
        let mut child = self.lock();
        let _may_have_ended = child.kill();
        let _nothing_to_add = child.wait();
    }

    fn lock(&self) -> MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Between fork and exec. Signals that this program handles or ignores get their default action
/// back, a real-time policy is dropped (a v1 group has no real-time budget, so the move would be
/// refused), the death of the parent becomes SIGKILL, and the process enters its groups.
fn enter(entrances: &[OwnedFd], parent: libc::pid_t) -> io::Result<()> {
    let reset =
        [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGPIPE, libc::SIGCHLD];
    for signal in reset {
        // SAFETY: the default action refers to no code of ours.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    }
    // SAFETY: pid 0 is this process; no pointers.
    let policy = unsafe { libc::sched_getscheduler(0) };
    if policy & !libc::SCHED_RESET_ON_FORK == libc::SCHED_FIFO
        || policy & !libc::SCHED_RESET_ON_FORK == libc::SCHED_RR
    {
        let normal = libc::sched_param { sched_priority: 0 };
        // SAFETY: `normal` lives through the call.
        check(unsafe { libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const normal) })?;
    }
    // SAFETY: takes a signal number by value.
    check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) })?;
    // SAFETY: takes nothing.
    if unsafe { libc::getppid() } != parent {
        // It died before the line above could have told us, so there is nobody to report to.
        // SAFETY: ends this process without running any of its code.
        unsafe { libc::_exit(1) };
    }
    for entrance in entrances {
        // SAFETY: one byte from a literal, to a descriptor that the closure owns; `0` means the
        // process that writes.
        let written = unsafe { libc::write(entrance.as_raw_fd(), b"0".as_ptr().cast(), 1) };
        if written != 1 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

fn check(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

//! Waiting: sockets, the next deadline and the call to end, in one place.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// Events fetched at once. Sends that fall due are looked for between them.
const BATCH: usize = 64;
const TIMER: u64 = u64::MAX;
const END: u64 = u64::MAX - 1;

/// Lets another thread end the wait for good.
#[derive(Debug)]
pub(super) struct Ender(OwnedFd);

impl Ender {
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?))
    }

    /// Ends it. It fails only if the counter is full, and then it has been called before.
    pub(super) fn end(&self) {
        let _ = rustix::io::write(&self.0, &1_u64.to_ne_bytes());
    }
}

/// What happened to a socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ready {
    /// The token it was added with.
    pub(super) token: u64,
    /// What happened.
    pub(super) flags: EventFlags,
}

/// Epoll with a timer that is armed for an absolute time, as its own timeout counts from the call.
#[derive(Debug)]
pub(super) struct Poll {
    epoll: OwnedFd,
    timer: OwnedFd,
    /// For when the timer is set; `None` once it may have fired.
    armed: Option<i64>,
    /// The sockets of the last wait.
    ready: Vec<Ready>,
    ended: bool,
}

impl Poll {
    pub(super) fn new(ender: &Ender) -> io::Result<Self> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN)?;
        epoll::add(&epoll, &ender.0, EventData::new_u64(END), EventFlags::IN)?;
        Ok(Self { epoll, timer, armed: None, ready: Vec::with_capacity(BATCH), ended: false })
    }

    pub(super) fn add(
        &self,
        fd: BorrowedFd<'_>,
        token: u64,
        flags: EventFlags,
    ) -> Result<(), Errno> {
        epoll::add(&self.epoll, fd, EventData::new_u64(token), flags)
    }

    pub(super) fn modify(
        &self,
        fd: BorrowedFd<'_>,
        token: u64,
        flags: EventFlags,
    ) -> Result<(), Errno> {
        epoll::modify(&self.epoll, fd, EventData::new_u64(token), flags)
    }

    /// Whether the call to end has come.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// How many sockets the last wait found ready.
    pub(super) fn count(&self) -> usize {
        self.ready.len()
    }

    /// One of them.
    pub(super) fn ready(&self, index: usize) -> Option<Ready> {
        self.ready.get(index).copied()
    }

    /// Waits for a socket or until `until_ns`, whichever is first; not at all if that has passed.
    pub(super) fn wait(&mut self, until_ns: i64, now_ns: i64) -> io::Result<()> {
        let passed = until_ns <= now_ns;
        if !passed {
            self.arm(until_ns)?;
        }
        let at_once = Timespec { tv_sec: 0, tv_nsec: 0 };
        let mut buffer = [MaybeUninit::uninit(); BATCH];
        self.ready.clear();
        let timeout = passed.then_some(&at_once);
        let events = match epoll::wait(&self.epoll, &mut buffer, timeout) {
            Ok((events, _)) => events,
            Err(Errno::INTR) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for event in events {
            match event.data.u64() {
                // Not read: setting it anew takes the expiry away.
                TIMER => self.armed = None,
                END => self.ended = true,
                token => self.ready.push(Ready { token, flags: event.flags }),
            }
        }
        Ok(())
    }

    fn arm(&mut self, at_ns: i64) -> io::Result<()> {
        if self.armed == Some(at_ns) {
            return Ok(());
        }
        let time = Itimerspec {
            it_interval: Timespec { tv_sec: 0, tv_nsec: 0 },
            it_value: Timespec { tv_sec: at_ns / 1_000_000_000, tv_nsec: at_ns % 1_000_000_000 },
        };
        timerfd_settime(self.timer.as_fd(), TimerfdTimerFlags::ABSTIME, &time)?;
        self.armed = Some(at_ns);
        Ok(())
    }
}

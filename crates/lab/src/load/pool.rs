//! Connections that are kept for the next request.

use std::collections::VecDeque;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net;
use unthrottle_model::requests::Outcome;
use unthrottle_source::monotonic_ns;

use super::conn::State;
use super::pacer::{Cause, Pacer};
use super::plan::Connections;

/// Connections that are opened at once before the start: fewer than any listener's backlog.
const WAVE: usize = 64;
/// Longest time for opening all of them, ns.
const PATIENCE_NS: i64 = 5_000_000_000;

/// Idle connections in turn: each is used as often as the others, so that a server that binds
/// connections to threads has all of them loaded.
#[derive(Debug, Default)]
pub(super) struct Idle {
    /// Those that were closed meanwhile are still named here, until their turn.
    tokens: VecDeque<u64>,
    count: usize,
}

impl Pacer<'_> {
    /// The connection whose turn it is.
    pub(super) fn take_idle(&mut self) -> Option<u32> {
        while let Some(token) = self.idle.tokens.pop_front() {
            if let Some(place) = self.conns.find(token) {
                self.idle.count -= 1;
                return Some(place);
            }
        }
        None
    }

    /// Keeps a connection for the next request; `false` if there are enough.
    pub(super) fn keep_idle(&mut self, place: u32) -> bool {
        if self.idle.count >= self.plan.pool_size() || self.watch(place, EventFlags::IN).is_err() {
            return false;
        }
        self.conns.get(place).state = State::Idle;
        self.idle.tokens.push_back(self.conns.token(place));
        self.idle.count += 1;
        true
    }

    /// An idle connection has ended, or the server says something nobody asked for.
    pub(super) fn lose_idle(&mut self, place: u32) {
        self.idle.count -= 1;
        self.conns.remove(place);
    }

    /// A connection for a request that found none idle.
    pub(super) fn open_for_request(&mut self) -> Result<(u32, bool), Errno> {
        let all_are_busy = self.conns.live() >= self.plan.pool_size();
        let opened = self.open()?;
        if let Connections::Pool(_) = self.plan.connections {
            let count = if all_are_busy { &mut self.tally.extra } else { &mut self.tally.reopened };
            *count += 1;
        }
        Ok(opened)
    }

    /// Opens the pool before the schedule starts.
    ///
    /// What cannot be opened is left out: the requests will try again, and tell in their rows.
    ///
    /// # Errors
    /// If the kernel refuses to wait.
    pub(super) fn open_pool(&mut self) -> std::io::Result<()> {
        let size = self.plan.pool_size();
        let until = monotonic_ns() + self.plan.timeout_ns.min(PATIENCE_NS);
        let mut refused = false;
        loop {
            while !refused && self.conns.live() < size && self.opening() < WAVE {
                refused = !self.open_idle();
            }
            let now = monotonic_ns();
            if self.opening() == 0 && (refused || self.idle.count >= size) {
                break;
            }
            if now >= until || self.is_stopped() {
                break;
            }
            self.poll.wait(until, now)?;
            for index in 0..self.poll.count() {
                let ready = self.poll.ready(index);
                if let Some(place) = ready.and_then(|ready| self.conns.find(ready.token)) {
                    let before = self.conns.live();
                    self.on_pool_ready(place);
                    refused |= self.conns.live() < before;
                }
            }
        }
        for place in 0..self.conns.len() {
            if matches!(self.conns.get(place).state, State::Opening) {
                self.conns.remove(place);
            }
        }
        Ok(())
    }

    fn on_pool_ready(&mut self, place: u32) {
        match self.conns.get(place).state {
            State::Opening => self.opened(place),
            State::Idle => self.lose_idle(place),
            State::Free | State::Busy(_) => {}
        }
    }

    fn opening(&self) -> usize {
        self.conns.live() - self.idle.count
    }

    /// Opens one; `false` if there is no use in opening more.
    fn open_idle(&mut self) -> bool {
        let (place, connected) = match self.open() {
            Ok(opened) => opened,
            Err(error) => {
                self.tally.cause(Outcome::Connect, Cause::Kernel(error));
                return false;
            }
        };
        self.conns.get(place).state = State::Opening;
        if connected {
            self.opened(place);
        } else if let Err(error) = self.watch(place, EventFlags::IN | EventFlags::OUT) {
            self.tally.cause(Outcome::Connect, Cause::Kernel(error));
            self.conns.remove(place);
        }
        !matches!(self.conns.get(place).state, State::Free)
    }

    /// The kernel has decided about a connection of the pool.
    pub(super) fn opened(&mut self, place: u32) {
        let Some(fd) = self.conns.get(place).fd() else { return };
        match net::sockopt::socket_error(fd).and_then(|inner| inner) {
            Ok(()) => {
                if !self.keep_idle(place) {
                    self.conns.remove(place);
                }
            }
            Err(error) => {
                self.tally.cause(Outcome::Connect, Cause::Kernel(error));
                self.conns.remove(place);
            }
        }
    }
}

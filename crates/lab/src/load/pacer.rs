//! The pacing loop: sends when the schedule says, and between two sends does everything else in
//! small steps.
//!
//! Each step (one read, one expiry) takes microseconds, and a due send is looked for after it. Many
//! sends at one instant give way to the sockets now and then too: a response that waits unread
//! would be counted as slower than it was.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use unthrottle_model::requests::Outcome;
use unthrottle_source::{Stop, monotonic_ns};

use super::conn::{Conns, State};
use super::plan::LoadPlan;
use super::poll::Poll;
use super::pool::Idle;
use super::response::Bad;
use super::rows::Rows;
use super::socket;

/// Sends, and expiries, in a row before the sockets are looked at.
const BURST: usize = 32;
/// Read at once. A larger response takes several turns.
const BUFFER: usize = 64 * 1024;
/// How far in the future the schedule starts, ns: time for the thread to come to rest.
const LEAD_NS: i64 = 20_000_000;

/// Why a request did not end well, as it is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    Kernel(Errno),
    Answer(Bad),
    Closed,
}

/// What is counted beside the rows.
#[derive(Debug, Default)]
pub(super) struct Tally {
    pub(super) extra: u64,
    pub(super) reopened: u64,
    pub(super) retried: u64,
    /// Few distinct ones, so a list is quicker than a map.
    pub(super) causes: Vec<(Outcome, Cause, u64)>,
}

impl Tally {
    pub(super) fn cause(&mut self, outcome: Outcome, cause: Cause) {
        match self.causes.iter_mut().find(|(o, c, _)| (*o, *c) == (outcome, cause)) {
            Some((_, _, count)) => *count += 1,
            None => self.causes.push((outcome, cause, 1)),
        }
    }
}

/// When a request has waited long enough.
#[derive(Debug, Clone, Copy)]
struct Deadline {
    at_ns: i64,
    place: u32,
    row: u32,
}

/// Everything the pacing thread has.
pub(super) struct Pacer<'a> {
    pub(super) plan: &'a LoadPlan,
    pub(super) stop: &'a Stop,
    pub(super) address: SocketAddr,
    pub(super) request: Vec<u8>,
    pub(super) poll: Poll,
    pub(super) conns: Conns,
    pub(super) idle: Idle,
    pub(super) rows: Rows,
    pub(super) tally: Tally,
    pub(super) in_flight: usize,
    pub(super) buffer: Box<[u8]>,
    start_ns: i64,
    /// Of the schedule, what is not sent yet.
    left: &'a [i64],
    /// In order of time, as every request has the same patience. Those that have ended stay until
    /// they reach the front.
    deadlines: VecDeque<Deadline>,
}

impl<'a> Pacer<'a> {
    pub(super) fn new(
        plan: &'a LoadPlan,
        stop: &'a Stop,
        address: SocketAddr,
        poll: Poll,
        rows: Rows,
    ) -> Self {
        Self {
            plan,
            stop,
            address,
            request: plan.request_bytes(),
            poll,
            conns: Conns::default(),
            idle: Idle::default(),
            rows,
            tally: Tally::default(),
            in_flight: 0,
            buffer: vec![0; BUFFER].into_boxed_slice(),
            start_ns: 0,
            left: &plan.schedule,
            deadlines: VecDeque::new(),
        }
    }

    /// Whether to end before the time.
    pub(super) fn is_stopped(&self) -> bool {
        self.poll.ended() || self.stop.requested()
    }

    /// Whether everything was sent and has ended.
    fn is_complete(&self) -> bool {
        self.left.is_empty() && self.in_flight == 0
    }

    /// How many of the schedule were never due.
    pub(super) fn unsent(&self) -> usize {
        self.left.len()
    }

    /// When the schedule started.
    pub(super) fn start_ns(&self) -> i64 {
        self.start_ns
    }

    /// Runs the whole schedule, until its last response or until stopped.
    ///
    /// # Errors
    /// If the kernel refuses to wait.
    pub(super) fn drive(&mut self) -> io::Result<()> {
        self.start_ns = monotonic_ns() + LEAD_NS;
        while !self.is_stopped() && !self.is_complete() {
            self.send_due(BURST);
            let now = monotonic_ns();
            self.expire(now);
            if self.rows.due_ns().is_some_and(|due| due <= now) {
                self.rows.hand_over();
            }
            // Expiry may have ended the last one: then nothing would wake us.
            let Some(until) = self.next_ns() else { continue };
            self.poll.wait(until, now)?;
            for index in 0..self.poll.count() {
                let Some(ready) = self.poll.ready(index) else { break };
                if let Some(place) = self.conns.find(ready.token) {
                    self.on_ready(place, ready.flags);
                }
                self.send_due(1);
            }
        }
        self.abandon();
        Ok(())
    }

    /// The next time at which something must be done without being asked by a socket.
    fn next_ns(&self) -> Option<i64> {
        let send = self.left.first().map(|offset| self.start_ns + offset);
        let expiry = self.deadlines.front().map(|deadline| deadline.at_ns);
        [send, expiry, self.rows.due_ns()].into_iter().flatten().min()
    }

    fn send_due(&mut self, most: usize) {
        for _ in 0..most {
            let Some((offset, left)) = self.left.split_first() else { return };
            let intended = self.start_ns + offset;
            let now = monotonic_ns();
            if intended > now {
                return;
            }
            self.left = left;
            self.send(intended, now);
        }
    }

    fn send(&mut self, intended_ns: i64, now_ns: i64) {
        if self.in_flight >= self.plan.max_in_flight {
            self.rows.skip(intended_ns, now_ns);
            return;
        }
        let row = self.rows.begin(intended_ns, now_ns);
        self.in_flight += 1;
        if let Some(place) = self.start_exchange(row) {
            let at_ns = now_ns + self.plan.timeout_ns;
            self.deadlines.push_back(Deadline { at_ns, place, row });
        }
    }

    fn expire(&mut self, now_ns: i64) {
        let mut expired = 0;
        while let Some(deadline) = self.deadlines.front().copied() {
            let state = self.conns.get(deadline.place).state;
            let pending = matches!(state, State::Busy(exchange) if exchange.row == deadline.row);
            if pending && (deadline.at_ns > now_ns || expired == BURST) {
                return;
            }
            self.deadlines.pop_front();
            if pending {
                expired += 1;
                self.finish(deadline.place, Outcome::Timeout, now_ns, false);
            }
        }
    }

    /// Ends what is still in flight when the run ends early.
    fn abandon(&mut self) {
        let now = monotonic_ns();
        for place in 0..self.conns.len() {
            self.finish(place, Outcome::Unfinished, now, false);
        }
    }

    fn on_ready(&mut self, place: u32, flags: EventFlags) {
        match self.conns.get(place).state {
            State::Free => {}
            State::Opening => self.opened(place),
            State::Idle => self.lose_idle(place),
            // Sending tells what became of the connection.
            State::Busy(exchange) if exchange.connecting => self.write(place),
            State::Busy(_) => {
                // Reading first: a server may answer before it has read all of a request.
                let writable = EventFlags::OUT;
                if flags.intersects(!writable) {
                    self.read(place);
                }
                if flags.contains(writable) {
                    self.write(place);
                }
            }
        }
    }

    /// Opens a connection in a place of its own.
    pub(super) fn open(&mut self) -> Result<(u32, bool), Errno> {
        let opened = socket::open(&self.address)?;
        let connected = opened.connected;
        Ok((self.conns.insert(opened), connected))
    }

    /// Has the socket watched for `wanted`, with no call to the kernel if it already is.
    pub(super) fn watch(&mut self, place: u32, wanted: EventFlags) -> Result<(), Errno> {
        let token = self.conns.token(place);
        let conn = self.conns.get(place);
        let watched = conn.watched;
        if watched == wanted {
            return Ok(());
        }
        conn.watched = wanted;
        let Some(fd) = conn.fd() else { return Ok(()) };
        let fd = std::os::fd::AsFd::as_fd(fd);
        if watched.is_empty() {
            self.poll.add(fd, token, wanted)
        } else {
            self.poll.modify(fd, token, wanted)
        }
    }
}

//! One request and its response on one connection.

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags};
use unthrottle_model::requests::Outcome;
use unthrottle_source::monotonic_ns;

use super::conn::{Exchange, State};
use super::pacer::{Cause, Pacer};
use super::response::Step;
use super::socket;

impl Pacer<'_> {
    /// Begins to send the request of a row; the place of its connection, if there is one.
    pub(super) fn start_exchange(&mut self, row: u32) -> Option<u32> {
        let (place, reused, connected) = match self.take_idle() {
            Some(place) => (place, true, true),
            None => match self.open_for_request() {
                Ok((place, connected)) => (place, false, connected),
                Err(error) => {
                    self.refuse(row, error);
                    return None;
                }
            },
        };
        let connecting = !connected;
        self.begin(
            place,
            Exchange { row, written: 0, connecting, reused, retried: false, deaf: false },
        );
        Some(place)
    }

    fn begin(&mut self, place: u32, exchange: Exchange) {
        let head_request = self.plan.method == "HEAD";
        let conn = self.conns.get(place);
        conn.state = State::Busy(exchange);
        conn.response.reset(head_request);
        // Also while connecting: on the loopback the connection is often there by now.
        self.write(place);
    }

    /// The row of a connection that could not even be begun.
    fn refuse(&mut self, row: u32, error: Errno) {
        self.tally.cause(Outcome::Connect, Cause::Kernel(error));
        self.in_flight -= 1;
        self.rows.finish(row, monotonic_ns(), |row| row.outcome = Outcome::Connect);
    }

    fn watch_exchange(&mut self, place: u32, wanted: EventFlags) {
        if let Err(error) = self.watch(place, wanted) {
            self.fail(place, Outcome::Connect, Cause::Kernel(error));
        }
    }

    /// Writes what the kernel takes of the request.
    pub(super) fn write(&mut self, place: u32) {
        let conn = self.conns.get(place);
        let State::Busy(mut exchange) = conn.state else { return };
        let Some(fd) = conn.fd() else { return };
        while let Some(rest @ [_, ..]) = self.request.get(exchange.written..) {
            // No signal when the server has gone: this process may have a handler for its own use.
            match net::send(fd, rest, SendFlags::NOSIGNAL) {
                Ok(taken) => {
                    exchange.written += taken;
                    exchange.connecting = false;
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => break,
                Err(error) if exchange.connecting => {
                    self.fail(place, Outcome::Connect, Cause::Kernel(error));
                    return;
                }
                Err(_) => {
                    // Why shows when reading; the server may have answered before it closed.
                    exchange.deaf = true;
                    break;
                }
            }
        }
        conn.state = State::Busy(exchange);
        let more = exchange.written < self.request.len() && !exchange.deaf;
        let out = if more { EventFlags::OUT } else { EventFlags::empty() };
        self.watch_exchange(place, EventFlags::IN | out);
    }

    /// Reads once what has come.
    pub(super) fn read(&mut self, place: u32) {
        let conn = self.conns.get(place);
        let State::Busy(exchange) = conn.state else { return };
        let Some(fd) = conn.fd() else { return };
        let received = net::recv(fd, &mut *self.buffer, RecvFlags::empty());
        let now = monotonic_ns();
        match received {
            Ok((0, _)) => self.lose(place, exchange, Cause::Closed, now),
            Ok((length, _)) => match conn.response.feed(&self.buffer[..length], now) {
                Ok(Step::More) => {}
                Ok(Step::Done { reusable }) => {
                    let whole = exchange.written == self.request.len();
                    self.finish(place, Outcome::Ok, now, reusable && whole);
                }
                Err(bad) => self.fail(place, Outcome::BadResponse, Cause::Answer(bad)),
            },
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(error) => self.lose(place, exchange, Cause::Kernel(error), now),
        }
    }

    /// The connection has ended under a request.
    fn lose(&mut self, place: u32, exchange: Exchange, cause: Cause, now_ns: i64) {
        let response = &self.conns.get(place).response;
        if cause == Cause::Closed && response.ends_with_connection() {
            self.finish(place, Outcome::Ok, now_ns, false);
        } else if exchange.reused && !exchange.retried && !response.any_byte() {
            self.retry(place, exchange);
        } else {
            self.fail(place, Outcome::Broken, cause);
        }
    }

    /// Sends the request again on a new connection: the server had closed the idle one before it
    /// saw the request. A server may do so at any time, and it is no failure of the request.
    fn retry(&mut self, place: u32, exchange: Exchange) {
        self.tally.retried += 1;
        match socket::open(&self.address) {
            Ok(opened) => {
                let connecting = !opened.connected;
                self.conns.replace(place, opened);
                let again =
                    Exchange { written: 0, connecting, retried: true, deaf: false, ..exchange };
                self.begin(place, again);
            }
            Err(error) => self.fail(place, Outcome::Connect, Cause::Kernel(error)),
        }
    }

    fn fail(&mut self, place: u32, outcome: Outcome, cause: Cause) {
        self.tally.cause(outcome, cause);
        self.finish(place, outcome, monotonic_ns(), false);
    }

    /// Completes the row of a busy connection and keeps or closes it.
    pub(super) fn finish(&mut self, place: u32, outcome: Outcome, now_ns: i64, reusable: bool) {
        let conn = self.conns.get(place);
        let State::Busy(exchange) = conn.state else { return };
        self.in_flight -= 1;
        self.rows.finish(exchange.row, now_ns, |row| {
            row.first_byte_ns = conn.response.first_byte_ns();
            row.done_ns = (outcome == Outcome::Ok).then_some(now_ns);
            row.local_port = conn.port;
            row.status = conn.response.status();
            row.outcome = outcome;
        });
        if !(reusable && self.keep_idle(place)) {
            self.conns.remove(place);
        }
    }
}

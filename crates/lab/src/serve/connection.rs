//! One client's connection: reading requests to their end, and short fixed answers.
//!
//! Every wait here has an end: a client that is slow, silent or talks nonsense loses its
//! connection, and the worker goes back to `accept`. Only a reused connection between two requests
//! may stay silent for as long as it likes.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};
use unthrottle_source::monotonic_ns;

/// Room for a request's head; a larger one is refused with 431.
pub(super) const HEAD_MAX: usize = 16 * 1024;
const HEADERS_MAX: usize = 100;
/// A request must be complete within this, from the accept or its first byte.
pub(super) const PATIENCE: Duration = Duration::from_secs(if cfg!(test) { 3 } else { 10 });
/// How long a refused client is listened to, so that it can read the refusal.
const LINGER: Duration = Duration::from_millis(100);

pub(super) const OK_KEEP: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const OK_KEEP_1_0: &[u8] =
    b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 0\r\n\r\n";
const OK_CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// Why a request is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    BadRequest,
    Timeout,
    LengthRequired,
    HeadTooLarge,
}

impl Refusal {
    fn answer(self) -> &'static [u8] {
        match self {
            Self::BadRequest => {
                b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            }
            Self::Timeout => {
                b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            }
            Self::LengthRequired => {
                b"HTTP/1.1 411 Length Required\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
            }
            Self::HeadTooLarge => {
                b"HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\n\
                  Content-Length: 0\r\n\r\n"
            }
        }
    }
}

/// What a request wants done with the connection afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keep {
    Close,
    Open,
    /// HTTP/1.0 with `Connection: keep-alive`, which has to be confirmed.
    OpenConfirmed,
}

/// A request read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) keep: Keep,
    /// When its first bytes were read, ns.
    pub(super) first_ns: i64,
}

pub(super) enum Next {
    Request(Request),
    /// The client is gone, or the server is stopping: nothing to answer.
    End,
    Refused(Refusal),
}

/// The head of a request, as far as this server cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    length: usize,
    body: u64,
    keep: Keep,
    expects_continue: bool,
}

pub(super) struct Connection<'a> {
    pub(super) socket: &'a OwnedFd,
    /// The worker's, used again for each connection; its first `filled` bytes are not used up.
    pub(super) buffer: &'a mut [u8; HEAD_MAX],
    pub(super) filled: usize,
    pub(super) stopping: &'a AtomicBool,
}

impl Connection<'_> {
    pub(super) fn prepare(&self) -> bool {
        set_socket_timeout(self.socket, Timeout::Recv, Some(PATIENCE)).is_ok()
    }

    /// Reads the next request. `accepted_ns` is given for the first one on the connection.
    pub(super) fn next(&mut self, accepted_ns: Option<i64>) -> Next {
        // Bytes left from a pipelining client are here already.
        let mut first_ns = accepted_ns.or_else(|| (self.filled > 0).then(monotonic_ns));
        loop {
            if self.filled > 0 {
                match parse_head(&self.buffer[..self.filled]) {
                    Ok(Some(head)) => return self.finish(head, first_ns.unwrap_or(0)),
                    Ok(None) if self.filled == HEAD_MAX => {
                        return Next::Refused(Refusal::HeadTooLarge);
                    }
                    Ok(None) => {}
                    Err(refusal) => return Next::Refused(refusal),
                }
            }
            if self.stopping.load(Ordering::SeqCst) {
                return Next::End;
            }
            if first_ns.is_some_and(late) {
                return Next::Refused(Refusal::Timeout);
            }
            match recv(self.socket, &mut self.buffer[self.filled..], RecvFlags::empty()) {
                Ok((0, _)) => return Next::End,
                Ok((count, _)) => {
                    first_ns = first_ns.or_else(|| Some(monotonic_ns()));
                    self.filled += count;
                }
                // After the time-out the loop's own clock decides.
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return Next::End,
            }
        }
    }

    /// Uses up the head and reads the body away.
    fn finish(&mut self, head: Head, first_ns: i64) -> Next {
        let have = self.filled - head.length;
        let of_body = usize::try_from(head.body).map_or(have, |body| body.min(have));
        self.buffer.copy_within(head.length + of_body..self.filled, 0);
        self.filled = have - of_body;
        let mut left = head.body - of_body as u64;
        if left > 0 && head.expects_continue && !self.send(CONTINUE) {
            return Next::End;
        }
        while left > 0 {
            if self.stopping.load(Ordering::SeqCst) {
                return Next::End;
            }
            if late(first_ns) {
                return Next::Refused(Refusal::Timeout);
            }
            // `left` above zero means that the buffer is empty; never read into the next request.
            let room = usize::try_from(left).map_or(HEAD_MAX, |left| left.min(HEAD_MAX));
            match recv(self.socket, &mut self.buffer[..room], RecvFlags::empty()) {
                Ok((0, _)) => return Next::End,
                Ok((count, _)) => left -= count as u64,
                Err(Errno::INTR | Errno::AGAIN) => {}
                Err(_) => return Next::End,
            }
        }
        Next::Request(Request { keep: head.keep, first_ns })
    }

    pub(super) fn answer_ok(&self, keep: Keep) -> bool {
        self.send(match keep {
            Keep::Close => OK_CLOSE,
            Keep::Open => OK_KEEP,
            Keep::OpenConfirmed => OK_KEEP_1_0,
        })
    }

    /// Says why, then lets the client finish sending: closing with bytes unread would reset the
    /// connection and could destroy the answer on its way.
    pub(super) fn refuse(&mut self, refusal: Refusal) {
        if !self.send(refusal.answer()) || shutdown(self.socket, Shutdown::Write).is_err() {
            return;
        }
        let end_ns = monotonic_ns() + LINGER.as_nanos() as i64;
        if set_socket_timeout(self.socket, Timeout::Recv, Some(LINGER)).is_err() {
            return;
        }
        while monotonic_ns() < end_ns && !self.stopping.load(Ordering::SeqCst) {
            match recv(self.socket, &mut self.buffer[..], RecvFlags::empty()) {
                Ok((0, _)) | Err(_) => return,
                Ok(_) => {}
            }
        }
    }

    /// Answers are far smaller than a send buffer, so one that does not fit belongs to a client
    /// that never reads: it loses its connection rather than hold the worker.
    fn send(&self, answer: &[u8]) -> bool {
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        matches!(send(self.socket, answer, flags), Ok(count) if count == answer.len())
    }
}

fn late(first_ns: i64) -> bool {
    monotonic_ns() - first_ns > PATIENCE.as_nanos() as i64
}

/// `Ok(None)` = the head is not complete yet.
pub(super) fn parse_head(bytes: &[u8]) -> Result<Option<Head>, Refusal> {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut request = httparse::Request::new(&mut headers);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Refusal::HeadTooLarge),
        Err(_) => return Err(Refusal::BadRequest),
    };
    let is_1_1 = request.version == Some(1);
    let mut body = None;
    let mut keep = if is_1_1 { Keep::Open } else { Keep::Close };
    let mut expects_continue = false;
    for header in request.headers.iter() {
        let value = header.value.trim_ascii();
        if header.name.eq_ignore_ascii_case("content-length") {
            let parsed = parse_length(value).ok_or(Refusal::BadRequest)?;
            if body.is_some_and(|earlier| earlier != parsed) {
                return Err(Refusal::BadRequest);
            }
            body = Some(parsed);
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(Refusal::LengthRequired);
        } else if header.name.eq_ignore_ascii_case("connection") {
            for option in value.split(|byte| *byte == b',') {
                let option = option.trim_ascii();
                if option.eq_ignore_ascii_case(b"close") {
                    keep = Keep::Close;
                } else if option.eq_ignore_ascii_case(b"keep-alive") && !is_1_1 {
                    keep = Keep::OpenConfirmed;
                }
            }
        } else if header.name.eq_ignore_ascii_case("expect") {
            expects_continue = is_1_1 && value.eq_ignore_ascii_case(b"100-continue");
        }
    }
    Ok(Some(Head { length, body: body.unwrap_or(0), keep, expects_continue }))
}

/// Digits only: `+5` parses as a number but is not a length.
fn parse_length(value: &[u8]) -> Option<u64> {
    let digits = !value.is_empty() && value.iter().all(u8::is_ascii_digit);
    if digits { std::str::from_utf8(value).ok()?.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: Result<Option<(u64, Keep)>, Refusal>) {
        let head = parse_head(text.as_bytes());
        assert_eq!(head.map(|h| h.map(|h| (h.body, h.keep))), expected, "{text:?}");
    }

    #[test]
    fn heads() {
        check("GET / HTTP/1.1\r\n\r\n", Ok(Some((0, Keep::Open))));
        check("\r\nGET / HTTP/1.1\r\n\r\n", Ok(Some((0, Keep::Open))));
        check("GET / HTTP/1.1\r\nconnection: Close\r\n\r\n", Ok(Some((0, Keep::Close))));
        check("GET / HTTP/1.1\r\nConnection: te, close\r\n\r\n", Ok(Some((0, Keep::Close))));
        check("GET / HTTP/1.0\r\n\r\n", Ok(Some((0, Keep::Close))));
        check(
            "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
            Ok(Some((0, Keep::OpenConfirmed))),
        );
        check("POST / HTTP/1.1\r\nContent-Length: 12\r\n\r\n", Ok(Some((12, Keep::Open))));
        check("GET / HTTP/1.1\r\nHost: x", Ok(None));
        check("", Ok(None));
    }

    #[test]
    fn refusals() {
        check("\x16\x03\x01\x02\x00", Err(Refusal::BadRequest));
        check("hello\r\n\r\n", Err(Refusal::BadRequest));
        check("GET / HTTP/2.0\r\n\r\n", Err(Refusal::BadRequest));
        check("POST / HTTP/1.1\r\nContent-Length: +5\r\n\r\n", Err(Refusal::BadRequest));
        check("POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", Err(Refusal::BadRequest));
        check(
            "POST / HTTP/1.1\r\nContent-Length: 99999999999999999999999\r\n\r\n",
            Err(Refusal::BadRequest),
        );
        check(
            "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            Err(Refusal::BadRequest),
        );
        check(
            "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            Err(Refusal::LengthRequired),
        );
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(HEADERS_MAX + 1));
        check(&many, Err(Refusal::HeadTooLarge));
    }
}

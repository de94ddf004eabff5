//! Reads one response from bytes as they come, cut anywhere.
//!
//! Work per byte is constant whatever the server does: a head is parsed once, when its end has been
//! seen, so that a server that drips bytes cannot hold up the sends.

use super::body::{Body, Chunks};

/// Longest head of a response, bytes.
const MAX_HEAD: usize = 256 * 1024;
/// Headers that are parsed without allocating.
const USUAL_HEADERS: usize = 64;

/// Why what came is not a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(super) enum Bad {
    /// It does not begin like one.
    #[error("the answer does not begin with `HTTP/1.`")]
    NotHttp,
    /// Too long.
    #[error("the head of the response is longer than 256 KiB")]
    HeadTooLong,
    /// A line of the head is wrong.
    #[error("the head of the response cannot be parsed")]
    Head,
    /// `Content-Length` is no number, or there are several.
    #[error("the response has no usable `Content-Length`")]
    Length,
    /// The chunks are wrong.
    #[error("the chunks of the response cannot be parsed")]
    Chunk,
    /// The server switched to a protocol nobody asked for.
    #[error("the server switched protocols (status 101)")]
    Switched,
}

/// Whether more must come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// The response is not complete.
    More,
    /// It is; the connection can carry another request if `reusable`.
    Done {
        /// By what both sides said, and no byte came that nobody asked for.
        reusable: bool,
    },
}

/// A response as far as it has been read.
#[derive(Debug, Default)]
pub(super) struct Response {
    to_head_request: bool,
    /// The head so far, if it did not come in one piece.
    head: Vec<u8>,
    /// Up to here no end of the head was found.
    searched: usize,
    body: Option<Body>,
    keep_alive: bool,
    any_byte: bool,
    first_byte_ns: Option<i64>,
    status: Option<u16>,
}

impl Response {
    /// Forgets everything, for the next request; `HEAD` has responses without their body.
    pub(super) fn reset(&mut self, to_head_request: bool) {
        let mut head = std::mem::take(&mut self.head);
        head.clear();
        *self = Self { to_head_request, head, ..Self::default() };
    }

    /// Whether the server has answered anything at all.
    pub(super) fn any_byte(&self) -> bool {
        self.any_byte
    }

    /// When the first byte of the response came; those with status 1xx only announce it.
    pub(super) fn first_byte_ns(&self) -> Option<i64> {
        self.first_byte_ns
    }

    /// The status, once the head is complete.
    pub(super) fn status(&self) -> Option<u16> {
        self.status
    }

    /// Whether an end of the connection now is the end of the response.
    pub(super) fn ends_with_connection(&self) -> bool {
        self.body == Some(Body::UntilClose)
    }

    /// Takes bytes that arrived at `now_ns`.
    pub(super) fn feed(&mut self, mut data: &[u8], now_ns: i64) -> Result<Step, Bad> {
        self.any_byte |= !data.is_empty();
        loop {
            if let Some(body) = &mut self.body {
                let Some(taken) = body.feed(data)? else { return Ok(Step::More) };
                let alone = taken == data.len();
                return Ok(Step::Done { reusable: self.keep_alive && alone });
            }
            if self.first_byte_ns.is_none() {
                // Some servers end a body with a line end too many.
                let skipped = data.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
                data = &data[skipped..];
                if data.is_empty() {
                    return Ok(Step::More);
                }
                self.first_byte_ns = Some(now_ns);
            }
            let Some(end) = self.head_in(data)? else { return Ok(Step::More) };
            data = &data[end..];
        }
    }

    /// Takes the head, or what of it is there; how many bytes of `data` it had, if it is complete.
    fn head_in(&mut self, data: &[u8]) -> Result<Option<usize>, Bad> {
        if self.head.is_empty() {
            check_beginning(data)?;
            if let Some(end) = head_end(data, 0) {
                let head = Head::parse(&data[..end])?;
                self.take_head(head)?;
                return Ok(Some(end));
            }
        }
        let before = self.head.len();
        self.head.extend_from_slice(data);
        check_beginning(&self.head)?;
        let Some(end) = head_end(&self.head, self.searched) else {
            // The last two bytes may be the beginning of the end.
            self.searched = self.head.len().saturating_sub(2);
            return if self.head.len() > MAX_HEAD { Err(Bad::HeadTooLong) } else { Ok(None) };
        };
        let head = Head::parse(&self.head[..end])?;
        self.take_head(head)?;
        self.head.clear();
        self.searched = 0;
        Ok(Some(end - before))
    }

    fn take_head(&mut self, head: Head) -> Result<(), Bad> {
        match head.status {
            101 => return Err(Bad::Switched),
            100..200 => {
                self.first_byte_ns = None;
                return Ok(());
            }
            _ => {}
        }
        let no_body = self.to_head_request || matches!(head.status, 204 | 304);
        let body = if no_body { Body::Length(0) } else { head.body };
        self.keep_alive = head.keep_alive && body != Body::UntilClose;
        self.status = Some(head.status);
        self.body = Some(body);
        Ok(())
    }
}

/// What of the head matters here.
#[derive(Debug, PartialEq, Eq)]
struct Head {
    status: u16,
    keep_alive: bool,
    body: Body,
}

impl Head {
    fn parse(bytes: &[u8]) -> Result<Self, Bad> {
        if bytes.len() > MAX_HEAD {
            return Err(Bad::HeadTooLong);
        }
        let mut usual = [httparse::EMPTY_HEADER; USUAL_HEADERS];
        match Self::parse_into(bytes, &mut usual) {
            Err(httparse::Error::TooManyHeaders) => {
                let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
                let mut many = vec![httparse::EMPTY_HEADER; lines];
                Self::parse_into(bytes, &mut many).map_err(|_| Bad::Head)?
            }
            Err(_) => Err(Bad::Head),
            Ok(head) => head,
        }
    }

    fn parse_into<'b>(
        bytes: &'b [u8],
        headers: &mut [httparse::Header<'b>],
    ) -> Result<Result<Self, Bad>, httparse::Error> {
        let mut config = httparse::ParserConfig::default();
        config
            .allow_spaces_after_header_name_in_responses(true)
            .allow_obsolete_multiline_headers_in_responses(true);
        let mut response = httparse::Response::new(headers);
        let complete = config.parse_response(&mut response, bytes)?.is_complete();
        let status = response.code.filter(|_| complete).ok_or(httparse::Error::Status)?;
        Ok(Self::framing(status, response.version, response.headers))
    }

    /// RFC 9112, 6.3: where the body ends, and whether the connection outlives it.
    fn framing(
        status: u16,
        version: Option<u8>,
        headers: &[httparse::Header<'_>],
    ) -> Result<Self, Bad> {
        let mut length: Option<u64> = None;
        let mut coding: Option<&[u8]> = None;
        let (mut close, mut keep) = (false, false);
        for header in headers {
            if header.name.eq_ignore_ascii_case("content-length") {
                for value in header.value.split(|byte| *byte == b',') {
                    let value = number(value.trim_ascii()).ok_or(Bad::Length)?;
                    if length.is_some_and(|before| before != value) {
                        return Err(Bad::Length);
                    }
                    length = Some(value);
                }
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                // Only the last one of all decides.
                coding = header.value.rsplit(|byte| *byte == b',').next();
            } else if header.name.eq_ignore_ascii_case("connection") {
                for word in header.value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii) {
                    close |= word.eq_ignore_ascii_case(b"close");
                    keep |= word.eq_ignore_ascii_case(b"keep-alive");
                }
            }
        }
        let old = version != Some(1);
        // Both, or chunks from a server of 1.0: possibly tampered with, so not to be reused.
        let doubtful = coding.is_some() && (length.is_some() || old);
        let body = match (coding, length) {
            (Some(coding), _) if coding.trim_ascii().eq_ignore_ascii_case(b"chunked") => {
                Body::Chunked(Chunks::default())
            }
            (Some(_), _) | (None, None) => Body::UntilClose,
            (None, Some(length)) => Body::Length(length),
        };
        Ok(Self { status, keep_alive: !close && !doubtful && (keep || !old), body })
    }
}

fn number(digits: &[u8]) -> Option<u64> {
    let plain = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(digits).ok().filter(|_| plain)?.parse().ok()
}

/// At once, so that a server of another protocol is not waited for until the timeout.
fn check_beginning(head: &[u8]) -> Result<(), Bad> {
    let wanted = b"HTTP/1.";
    let length = head.len().min(wanted.len());
    if head[..length] == wanted[..length] { Ok(()) } else { Err(Bad::NotHttp) }
}

/// Just after the empty line that ends a head, whichever line ends the server uses.
fn head_end(head: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at += head.get(at..)?.iter().position(|byte| *byte == b'\n')? + 1;
        match head.get(at..)? {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
}

#[cfg(test)]
#[path = "tests/response.rs"]
mod tests;

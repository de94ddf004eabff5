//! Parsing of responses, whole and in pieces.

use super::*;

/// Feeds `text` cut at every place, and byte by byte; all must agree on the last step.
fn read_all(text: &str, head_request: bool) -> (Result<Step, Bad>, Option<u16>) {
    let bytes = text.as_bytes();
    let mut response = Response::default();
    response.reset(head_request);
    let whole = response.feed(bytes, 1);
    for cut in 0..bytes.len() {
        let mut parts = Response::default();
        parts.reset(head_request);
        let (first, second) = bytes.split_at(cut);
        let step = match parts.feed(first, 1) {
            Ok(Step::More) => parts.feed(second, 1),
            // Bytes after the end of a response are unseen if they come later.
            other => match whole {
                Ok(Step::Done { .. }) => whole.and(other.map(|_| whole.unwrap_or(Step::More))),
                _ => other,
            },
        };
        assert_eq!(step, whole, "cut at {cut} of {text:?}");
        assert_eq!(parts.status(), response.status());
    }
    let mut dripped = Response::default();
    dripped.reset(head_request);
    let step = bytes
        .iter()
        .map(|byte| dripped.feed(&[*byte], 1))
        .find(|step| *step != Ok(Step::More))
        .unwrap_or(Ok(Step::More));
    assert_eq!(step.is_ok(), whole.is_ok(), "dripped {text:?}");
    (whole, response.status())
}

const REUSABLE: Result<Step, Bad> = Ok(Step::Done { reusable: true });
const LAST: Result<Step, Bad> = Ok(Step::Done { reusable: false });
const MORE: Result<Step, Bad> = Ok(Step::More);

#[test]
fn responses_and_where_they_end() {
    for (text, step, status) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", REUSABLE, Some(200)),
        ("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", REUSABLE, Some(200)),
        ("HTTP/1.1 200\nContent-Length:2\n\nhi", REUSABLE, Some(200)),
        ("\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", REUSABLE, Some(200)),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nhi",
            REUSABLE,
            Some(200),
        ),
        ("HTTP/1.1 500 No\r\nContent-Length: 2\r\nConnection: Close\r\n\r\nhi", LAST, Some(500)),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nhi", LAST, Some(200)),
        (
            "HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: x, keep-alive\r\n\r\nhi",
            REUSABLE,
            Some(200),
        ),
        ("HTTP/1.1 204 No Content\r\n\r\n", REUSABLE, Some(204)),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", REUSABLE, Some(304)),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, Chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
            REUSABLE,
            Some(200),
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 9\r\n\r\n0\r\n\r\n",
            LAST,
            Some(200),
        ),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nxx", MORE, Some(200)),
        ("HTTP/1.1 200 OK\r\n\r\nxx", MORE, Some(200)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", MORE, Some(200)),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n", MORE, None),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            REUSABLE,
            Some(200),
        ),
        (
            "HTTP/1.1 200 OK\r\nFolded: a\r\n b\r\nSpaced : c\r\nContent-Length: 0\r\n\r\n",
            REUSABLE,
            Some(200),
        ),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1", LAST, Some(200)),
    ] {
        assert_eq!(read_all(text, false), (step, status), "{text:?}");
    }
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n";
    assert_eq!(read_all(head, true), (REUSABLE, Some(200)));
}

#[test]
fn what_is_no_response() {
    for (text, bad) in [
        ("hello", Bad::NotHttp),
        ("SSH-2.0-OpenSSH\r\n", Bad::NotHttp),
        ("HTTP/2 200\r\n\r\n", Bad::NotHttp),
        ("HTTP/1.1 abc\r\n\r\n", Bad::Head),
        ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", Bad::Head),
        ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", Bad::Length),
        ("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\n", Bad::Length),
        ("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", Bad::Length),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n", Bad::Length),
        ("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", Bad::Length),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz", Bad::Chunk),
        ("HTTP/1.1 101 Switching Protocols\r\n\r\n", Bad::Switched),
    ] {
        assert_eq!(read_all(text, false).0, Err(bad), "{text:?}");
    }
}

#[test]
fn many_headers_and_too_long_heads() {
    let many =
        format!("HTTP/1.1 200 OK\r\n{}Content-Length: 0\r\n\r\n", "X-A: b\r\n".repeat(5_000));
    assert_eq!(Response::default().feed(many.as_bytes(), 1), REUSABLE);
    let long = format!("HTTP/1.1 200 OK\r\nX: {}", "y".repeat(MAX_HEAD));
    assert_eq!(Response::default().feed(long.as_bytes(), 1), Err(Bad::HeadTooLong));
    let mut dripped = Response::default();
    let bad = long.bytes().find_map(|byte| dripped.feed(&[byte], 1).err());
    assert_eq!(bad, Some(Bad::HeadTooLong));
    let long = format!("{long}\r\n\r\n");
    assert_eq!(Response::default().feed(long.as_bytes(), 1), Err(Bad::HeadTooLong));
}

#[test]
fn first_byte_is_that_of_the_final_response() {
    let mut response = Response::default();
    assert_eq!(response.first_byte_ns(), None);
    assert!(!response.any_byte());
    assert_eq!(response.feed(b"HTTP/1.1 100 Continue\r\n\r\n", 1), MORE);
    assert_eq!(response.first_byte_ns(), None);
    assert!(response.any_byte());
    assert_eq!(response.feed(b"H", 2), MORE);
    assert_eq!(response.feed(b"TTP/1.1 204 x\r\n\r\n", 3), REUSABLE);
    assert_eq!(response.first_byte_ns(), Some(2));
    response.reset(false);
    assert_eq!(
        (response.first_byte_ns(), response.status(), response.any_byte()),
        (None, None, false)
    );
}

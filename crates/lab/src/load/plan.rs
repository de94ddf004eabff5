//! What is to be sent, and the bytes of it.

use std::fmt;
use std::str::FromStr;

use super::error::LoadError;
use super::url::Url;

/// How requests share connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connections {
    /// A connection of its own for each request, closed after the response.
    New,
    /// This many are opened before the start and reused in turn. When all are busy a further one
    /// is opened, as waiting for one would not be open-loop; at most this many are kept idle.
    Pool(usize),
}

impl fmt::Display for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::New => f.write_str("new"),
            Self::Pool(size) => write!(f, "pool:{size}"),
        }
    }
}

impl FromStr for Connections {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let size = text.strip_prefix("pool:").and_then(|size| size.parse().ok());
        match (text, size) {
            ("new", _) => Ok(Self::New),
            (_, Some(size)) if size > 0 => Ok(Self::Pool(size)),
            _ => Err(format!("`{text}` is neither `new` nor a pool such as `pool:16`")),
        }
    }
}

/// One load: every request is the same, only its time differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadPlan {
    /// Where to.
    pub url: Url,
    /// `GET`, `POST`, ...
    pub method: String,
    /// Further headers; `Host` and `User-Agent` replace our own.
    pub headers: Vec<(String, String)>,
    /// Sent with its `Content-Length` if not empty.
    pub body: Vec<u8>,
    /// When to send: offsets from the start, ns, sorted.
    pub schedule: Vec<i64>,
    /// How requests share connections.
    pub connections: Connections,
    /// Sends that would exceed this many requests in flight are skipped, and counted as such.
    pub max_in_flight: usize,
    /// From the actual send to the last byte of the response, ns.
    pub timeout_ns: i64,
    /// Ask for real-time priority for the pacing thread.
    pub real_time: bool,
}

/// Headers that say how the message is framed: the generator alone may say that.
const OWN_HEADERS: [&str; 3] = ["content-length", "transfer-encoding", "connection"];

impl LoadPlan {
    /// Whether it can be run.
    pub(super) fn check(&self) -> Result<(), LoadError> {
        let fail = |field, what: &str| Err(LoadError::Plan { field, what: what.to_owned() });
        if self.method.is_empty() || !self.method.bytes().all(is_token) {
            return fail("method", "is not a word such as `GET`");
        }
        if self.method.eq_ignore_ascii_case("CONNECT") {
            return fail("method", "`CONNECT` opens a tunnel, which has no response to wait for");
        }
        for (name, value) in &self.headers {
            if name.is_empty() || !name.bytes().all(is_token) {
                return fail("header", &format!("`{}` is not a header name", name.escape_debug()));
            }
            if value.bytes().any(|byte| byte == 127 || (byte < 32 && byte != b'\t')) {
                return fail("header", &format!("`{name}` has a control character in its value"));
            }
            if OWN_HEADERS.iter().any(|own| own.eq_ignore_ascii_case(name)) {
                return fail("header", &format!("`{name}` is set by the generator itself"));
            }
        }
        if self.schedule.first().is_some_and(|first| *first < 0) || !self.schedule.is_sorted() {
            return fail("schedule", "is not sorted from 0");
        }
        if self.schedule.len() > unthrottle_model::arrivals::MAX_ARRIVALS {
            return fail("schedule", "has too many arrivals");
        }
        // Three years, as the longest span that can be typed; far from an overflow when added.
        let longest = 100_000_000_000_000_000;
        if self.schedule.last().is_some_and(|last| *last > longest) {
            return fail("schedule", "is longer than three years");
        }
        if !(1..=longest).contains(&self.timeout_ns) {
            return fail("timeout", "is not between 1 ns and three years");
        }
        if self.max_in_flight == 0 {
            return fail("max in flight", "is 0, so that nothing would be sent");
        }
        match self.connections {
            Connections::Pool(0) => fail("connections", "are a pool of none"),
            Connections::Pool(size) if size > MAX_POOL => {
                fail("connections", &format!("are a pool of more than {MAX_POOL}"))
            }
            _ => Ok(()),
        }
    }

    /// The request as it goes over the wire, the same for every send.
    pub(super) fn request_bytes(&self) -> Vec<u8> {
        let given = |wanted: &str| self.headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(wanted));
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.url.target());
        if !given("host") {
            text += &format!("Host: {}\r\n", self.url.host_header());
        }
        if !given("user-agent") {
            text += concat!("User-Agent: unthrottle/", env!("CARGO_PKG_VERSION"), "\r\n");
        }
        for (name, value) in &self.headers {
            text += &format!("{name}: {value}\r\n");
        }
        // Some servers insist on a length where a body would be usual.
        let usual = ["POST", "PUT", "PATCH"].contains(&self.method.as_str());
        if !self.body.is_empty() || usual {
            text += &format!("Content-Length: {}\r\n", self.body.len());
        }
        if self.connections == Connections::New {
            text += "Connection: close\r\n";
        }
        text += "\r\n";
        [text.as_bytes(), &self.body].concat()
    }

    /// Idle connections to keep.
    pub(super) fn pool_size(&self) -> usize {
        match self.connections {
            Connections::New => 0,
            Connections::Pool(size) => size,
        }
    }
}

/// More connections than one address of ours has ports.
const MAX_POOL: usize = 65_535;

fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> LoadPlan {
        LoadPlan {
            url: "http://127.0.0.1:8080/x?y".parse().expect("url"),
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
            schedule: vec![0, 5],
            connections: Connections::New,
            max_in_flight: 10,
            timeout_ns: 1,
            real_time: false,
        }
    }

    fn header(name: &str, value: &str) -> Vec<(String, String)> {
        vec![(name.to_owned(), value.to_owned())]
    }

    #[test]
    fn bytes_of_a_request() {
        let version = env!("CARGO_PKG_VERSION");
        let text = |plan: &LoadPlan| String::from_utf8(plan.request_bytes()).expect("text");
        assert_eq!(
            text(&plan()),
            format!(
                "GET /x?y HTTP/1.1\r\nHost: 127.0.0.1:8080\r\nUser-Agent: unthrottle/{version}\r\n\
                 Connection: close\r\n\r\n"
            )
        );
        let posted = LoadPlan {
            method: "POST".to_owned(),
            headers: [header("host", "a"), header("User-agent", "b")].concat(),
            body: b"{}".to_vec(),
            connections: Connections::Pool(1),
            ..plan()
        };
        assert_eq!(
            text(&posted),
            "POST /x?y HTTP/1.1\r\nhost: a\r\nUser-agent: b\r\nContent-Length: 2\r\n\r\n{}"
        );
    }

    #[test]
    fn plans_that_make_no_sense() {
        assert!(plan().check().is_ok());
        for (wrong, part) in [
            (LoadPlan { method: "G T".to_owned(), ..plan() }, "method"),
            (LoadPlan { method: "connect".to_owned(), ..plan() }, "tunnel"),
            (LoadPlan { headers: header("a b", ""), ..plan() }, "`a b`"),
            (LoadPlan { headers: header("a", "b\r\nc: d"), ..plan() }, "`a`"),
            (LoadPlan { headers: header("Content-length", "5"), ..plan() }, "itself"),
            (LoadPlan { schedule: vec![-1], ..plan() }, "schedule"),
            (LoadPlan { schedule: vec![2, 1], ..plan() }, "schedule"),
            (LoadPlan { schedule: vec![i64::MAX], ..plan() }, "three years"),
            (LoadPlan { timeout_ns: 0, ..plan() }, "timeout"),
            (LoadPlan { max_in_flight: 0, ..plan() }, "in flight"),
            (LoadPlan { connections: Connections::Pool(0), ..plan() }, "pool"),
            (LoadPlan { connections: Connections::Pool(70_000), ..plan() }, "pool"),
        ] {
            let error = wrong.check().expect_err(part);
            assert!(error.to_string().contains(part), "{error}");
        }
    }

    #[test]
    fn connections_as_typed() {
        for connections in [Connections::New, Connections::Pool(16)] {
            assert_eq!(connections.to_string().parse(), Ok(connections));
        }
        for text in ["", "old", "pool", "pool:", "pool:0", "pool:-1"] {
            assert!(text.parse::<Connections>().is_err(), "{text}");
        }
    }
}

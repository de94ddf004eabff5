//! Addresses of the form `http://HOST[:PORT]/PATH`.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs};
use std::str::FromStr;

use super::error::{LoadError, UrlError};

/// An address that can be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    host: String,
    port: u16,
    target: String,
}

impl Url {
    /// Name or address of the host; an IPv6 address without its brackets.
    #[must_use]
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, 80 if none was given.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Path and query as they go into the request line; begins with `/`.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }

    /// Host and port as the `Host` header wants them.
    #[must_use]
    pub fn host_header(&self) -> String {
        let host = &self.host;
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        if self.port == 80 { host } else { format!("{host}:{}", self.port) }
    }

    /// Every address of the host, in the resolver's order.
    ///
    /// # Errors
    /// If there is none.
    pub fn resolve(&self) -> Result<Vec<SocketAddr>, LoadError> {
        let fail = |source| LoadError::Resolve { host: self.host.clone(), source };
        if let Ok(ip) = self.host.parse::<IpAddr>() {
            return Ok(vec![SocketAddr::new(ip, self.port)]);
        }
        let mut addresses: Vec<SocketAddr> = Vec::new();
        for address in (self.host.as_str(), self.port).to_socket_addrs().map_err(fail)? {
            if !addresses.contains(&address) {
                addresses.push(address);
            }
        }
        if addresses.is_empty() {
            return Err(fail(std::io::Error::other("the name has no address")));
        }
        Ok(addresses)
    }
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "http://{}{}", self.host_header(), self.target)
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let url = || text.to_owned();
        let part = |what: String| UrlError::Part { url: url(), what };
        let rest = match text.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") => rest,
            Some((scheme, _)) if scheme.eq_ignore_ascii_case("https") => {
                return Err(UrlError::Tls { url: url() });
            }
            _ => return Err(UrlError::Scheme { url: url() }),
        };
        let rest = rest.split_once('#').map_or(rest, |(before, _)| before);
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, target) = rest.split_at(at);
        if authority.contains('@') {
            return Err(part(
                "names and passwords in the address are not sent; use a header, \
                             such as `Authorization`"
                    .to_owned(),
            ));
        }
        // A blank or a line end would end the request line early: another request than was meant.
        if let Some(bad) = target.chars().find(|c| !c.is_ascii_graphic()) {
            return Err(part(format!(
                "`{}` in the path must be percent-encoded",
                bad.escape_debug()
            )));
        }
        let (host, port) = split_port(authority).map_err(part)?;
        let port = match port {
            None | Some("") => 80,
            Some(port) => port
                .parse()
                .ok()
                .filter(|number| *number != 0 && port.bytes().all(|byte| byte.is_ascii_digit()))
                .ok_or_else(|| part(format!("`{port}` is not a port from 1 to 65535")))?,
        };
        let slash = if target.starts_with('/') { "" } else { "/" };
        Ok(Self { host: host.to_owned(), port, target: format!("{slash}{target}") })
    }
}

fn split_port(authority: &str) -> Result<(&str, Option<&str>), String> {
    if let Some(inside) = authority.strip_prefix('[') {
        let (host, after) =
            inside.split_once(']').ok_or_else(|| "`[` without its `]`".to_owned())?;
        if host.parse::<Ipv6Addr>().is_err() {
            return Err(format!("`{host}` is not an IPv6 address"));
        }
        return match after.strip_prefix(':') {
            Some(port) => Ok((host, Some(port))),
            None if after.is_empty() => Ok((host, None)),
            None => Err(format!("`{after}` after the address is not a port")),
        };
    }
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    if port.is_some_and(|port| port.contains(':')) {
        return Err("an IPv6 address stands in brackets, such as `[::1]`".to_owned());
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    match host.chars().find(|c| !fits(*c)) {
        Some(bad) => Err(format!("`{}` cannot be in the name of a host", bad.escape_debug())),
        None if host.is_empty() => Err("no host is named".to_owned()),
        None => Ok((host, port)),
    }
}

#[cfg(test)]
mod tests {
    use unthrottle_model::Explained;

    use super::*;

    #[test]
    fn addresses_and_back() {
        for (text, host, port, target, shown) in [
            (
                "http://127.0.0.1:8080/a?b=c#d",
                "127.0.0.1",
                8080,
                "/a?b=c",
                "http://127.0.0.1:8080/a?b=c",
            ),
            ("HTTP://localhost", "localhost", 80, "/", "http://localhost/"),
            ("http://a_b.example:80/x", "a_b.example", 80, "/x", "http://a_b.example/x"),
            ("http://a:/", "a", 80, "/", "http://a/"),
            ("http://a?q", "a", 80, "/?q", "http://a/?q"),
            ("http://a/x@y", "a", 80, "/x@y", "http://a/x@y"),
            ("http://[::1]:81/", "::1", 81, "/", "http://[::1]:81/"),
            ("http://[fe80::1]", "fe80::1", 80, "/", "http://[fe80::1]/"),
        ] {
            let url: Url = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((url.host(), url.port(), url.target()), (host, port, target), "{text}");
            assert_eq!(url.to_string(), shown);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in [
            ("", "does not begin with `http://`"),
            ("localhost:8080/", "does not begin with `http://`"),
            ("ftp://a/", "does not begin with `http://`"),
            ("https://a/", "TLS is not spoken"),
            ("http://", "no host"),
            ("http:///x", "no host"),
            ("http://:80/", "no host"),
            ("http://user:pw@a/", "use a header"),
            ("http://a:0/", "not a port"),
            ("http://a:70000/", "not a port"),
            ("http://a:+80/", "not a port"),
            ("http://::1/", "in brackets"),
            ("http://[::1/", "without its"),
            ("http://[::1]x/", "not a port"),
            ("http://[nope]/", "not an IPv6 address"),
            ("http://a b/", "cannot be in the name"),
            ("http://ü.example/", "cannot be in the name"),
            ("http://a/b c", "percent-encoded"),
            ("http://a/\r\nHost: b", "percent-encoded"),
            ("http://a/ü", "percent-encoded"),
        ] {
            let error = text.parse::<Url>().expect_err(text);
            assert!(error.to_string().contains(part), "{text}: {error}");
            assert!(error.hint().is_some());
        }
        let hint = "localhost:8080/".parse::<Url>().expect_err("no scheme").hint();
        assert_eq!(hint.as_deref(), Some("write `http://localhost:8080/`"));
    }

    #[test]
    fn resolving() {
        let resolve = |text: &str| text.parse::<Url>().expect("url").resolve();
        let v6 = resolve("http://[::1]:81/").expect("literal");
        assert_eq!(v6, ["[::1]:81".parse().expect("address")]);
        let local = resolve("http://localhost:81/").expect("localhost");
        assert!(local.iter().all(|address| address.ip().is_loopback()), "{local:?}");
        let error = resolve("http://no-such-host.invalid/").expect_err("no such name");
        assert!(error.to_string().contains("`no-such-host.invalid`"), "{error}");
    }
}

//! Sockets to the server, and how many of them this process may have.

use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// A socket on its way to the server.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) fd: OwnedFd,
    /// Whether the connection is established already; on the loopback it usually is.
    pub(super) connected: bool,
    /// Our own port.
    pub(super) port: Option<u16>,
}

/// Begins to connect, without waiting.
pub(super) fn open(address: &SocketAddr) -> Result<Opened, Errno> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let fd = net::socket_with(family, SocketType::STREAM, flags, None)?;
    // Without it the kernel may hold back the last piece of a request for the server's ACK.
    net::sockopt::set_tcp_nodelay(&fd, true)?;
    let connected = match net::connect(&fd, address) {
        Ok(()) => true,
        Err(Errno::INPROGRESS | Errno::INTR) => false,
        Err(error) => return Err(error),
    };
    let own = net::getsockname(&fd).ok().and_then(|own| SocketAddr::try_from(own).ok());
    Ok(Opened { fd, connected, port: own.map(|own| own.port()).filter(|port| *port != 0) })
}

/// The first address that takes a connection, or simply the first.
///
/// A name such as `localhost` has addresses of both families, and servers often listen on one.
/// With a single address nothing is tried, so that the server sees the load alone.
pub(super) fn choose(addresses: &[SocketAddr], timeout_ns: i64) -> Option<SocketAddr> {
    let patience = Duration::from_nanos(timeout_ns.unsigned_abs()).min(Duration::from_secs(2));
    let answers = |address: &&SocketAddr| TcpStream::connect_timeout(address, patience).is_ok();
    match addresses {
        [only] => Some(*only),
        several => several.iter().find(answers).or_else(|| several.first()).copied(),
    }
}

/// Raises the soft limit of open files to the hard one if `needed` is above it.
///
/// A refusal is not told here: it shows as connections that fail with that very reason.
pub(super) fn raise_open_files(needed: u64) {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|soft| soft < needed) {
        let _ =
            setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
}

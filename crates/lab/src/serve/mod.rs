//! The workload server: N threads, one listen socket, a known amount of CPU per request.
//!
//! A stand-in for a thread-per-connection service. There is no queue in the application: workers
//! block in `accept`, so connections that wait, wait in the kernel's accept queue, where they can
//! be seen from outside. The server counts nothing; `--log` exists so that tests know what each
//! request really used.
//!
//! Failure: what cannot be had at the start (address, log file, threads) is an error. After that a
//! client or a listener that misbehaves costs at most its own connection, never a worker.

mod burn;
mod connection;
mod error;
mod log;
mod worker;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::time::Duration;

use rustix::net::sockopt::{set_socket_reuseaddr, set_tcp_nodelay};
use rustix::net::{AddressFamily, SocketFlags, SocketType};
use unthrottle_source::Stop;

pub use burn::Burn;
pub use error::ServeError;
pub use log::LOG_HEADER;

use burn::Burner;
use log::Log;
use worker::{Pool, Worker};

/// How the server listens and what a request costs.
#[derive(Debug, Clone)]
pub struct ServeOptions {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Threads, each with at most one connection at a time.
    pub workers: usize,
    /// CPU time burned per request, ns. For the burn alone: accept, read and write come on top
    /// (some tens of microseconds), as they do for a real service.
    pub cost_ns: i64,
    /// How it is burned.
    pub burn: Burn,
    /// One CSV row ([`LOG_HEADER`]) per request answered; the file is started anew.
    pub log: Option<PathBuf>,
    /// Length of the kernel's accept queue, which the kernel caps at `net.core.somaxconn`.
    pub backlog: i32,
}

/// A server that listens already and does not serve yet.
#[derive(Debug)]
pub struct Server {
    listener: OwnedFd,
    local: SocketAddr,
    workers: usize,
    burner: Burner,
    log: Option<Log>,
}

/// How often the main thread looks for a request to stop. Each look wakes a CPU inside the group
/// that is being measured, so it is rarer than elsewhere; a signal ends the wait at once.
const LOOK_EVERY: Duration = Duration::from_millis(100);

impl Server {
    /// Listens, opens the log, and calibrates [`Burn::Hash`] (about 0.1 s of CPU) if no number of
    /// hashes was given.
    ///
    /// # Errors
    /// For no workers or a negative cost, an address that cannot be had, a log that cannot be
    /// written.
    pub fn bind(options: &ServeOptions) -> Result<Self, ServeError> {
        if options.workers == 0 {
            return Err(ServeError::NoWorkers);
        }
        if options.cost_ns < 0 {
            return Err(ServeError::Cost { cost_ns: options.cost_ns });
        }
        let (listener, local) = listen(options)
            .map_err(|source| ServeError::Listen { address: options.listen, source })?;
        let log = match &options.log {
            Some(path) => Some(
                Log::create(path)
                    .map_err(|source| ServeError::Log { path: path.clone(), source })?,
            ),
            None => None,
        };
        let burner = Burner::new(options.burn, options.cost_ns);
        Ok(Self { listener, local, workers: options.workers, burner, log })
    }

    /// The address it listens on, with the port that was taken.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local
    }

    /// Hashes per request if it burns by hashing: give it to another run for the same work.
    #[must_use]
    pub fn hashes(&self) -> Option<u64> {
        self.burner.hashes()
    }

    /// Serves until asked to stop, then ends within about 0.1 s plus the requests in hand.
    /// Connections still waiting in the accept queue are reset.
    ///
    /// # Errors
    /// If not all threads could be started, or a row of the log was lost (known at the end: a full
    /// disk does not stop the service).
    pub fn run(self, stop: &Stop) -> Result<(), ServeError> {
        let pool = Pool::new(&self.listener, self.workers);
        let started = std::thread::scope(|scope| {
            let mut threads = Vec::with_capacity(self.workers);
            for number in 0..self.workers {
                let worker =
                    Worker { number, pool: &pool, burner: self.burner, log: self.log.as_ref() };
                let spawned = std::thread::Builder::new()
                    .name(format!("worker-{number}"))
                    .spawn_scoped(scope, move || worker.run());
                match spawned {
                    Ok(thread) => threads.push(thread),
                    Err(source) => {
                        pool.shut_down();
                        return Err(ServeError::Thread { worker: number, source });
                    }
                }
            }
            wait(stop);
            pool.shut_down();
            // Joined one by one: left to the scope, a dead worker would be a panic of ours.
            let dead = threads.into_iter().map(|t| t.join()).filter(Result::is_err).count();
            if dead == 0 { Ok(()) } else { Err(ServeError::Died { workers: dead }) }
        });
        started?;
        match self.log.and_then(Log::into_lost) {
            Some((path, source)) => Err(ServeError::Log { path, source }),
            None => Ok(()),
        }
    }
}

fn wait(stop: &Stop) {
    let every = rustix::time::Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK_EVERY.subsec_nanos()) };
    while !stop.requested() {
        // Not `thread::sleep`, which goes on sleeping after a signal.
        let _ended_by_signal = rustix::event::poll(&mut [], Some(&every));
    }
}

/// Not `TcpListener::bind`, which does not let the backlog be chosen.
fn listen(options: &ServeOptions) -> std::io::Result<(OwnedFd, SocketAddr)> {
    let family = match options.listen {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = rustix::net::socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    set_socket_reuseaddr(&socket, true)?;
    // Accepted sockets inherit it: pipelined answers must not wait for the client's delayed ACK.
    set_tcp_nodelay(&socket, true)?;
    rustix::net::bind(&socket, &options.listen)?;
    rustix::net::listen(&socket, options.backlog)?;
    let local = SocketAddr::try_from(rustix::net::getsockname(&socket)?)?;
    Ok((socket, local))
}

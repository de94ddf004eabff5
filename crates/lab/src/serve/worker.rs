//! A worker thread: accept, read, burn, answer, again.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{Shutdown, SocketFlags, accept_with, shutdown};
use unthrottle_source::monotonic_ns;

use super::burn::{Burner, thread_cpu_ns};
use super::connection::{Connection, HEAD_MAX, Keep, Next};
use super::log::{Log, Row};

/// First and longest pause after the listener failed, as it does when descriptors run out.
const PAUSE: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(100);

/// What the workers share.
pub(super) struct Pool<'a> {
    listener: &'a OwnedFd,
    stopping: AtomicBool,
    /// Each worker's connection, so that one blocked in a read can be woken.
    connections: Vec<Mutex<Option<Arc<OwnedFd>>>>,
}

impl<'a> Pool<'a> {
    pub(super) fn new(listener: &'a OwnedFd, workers: usize) -> Self {
        let connections = (0..workers).map(|_| Mutex::new(None)).collect();
        Self { listener, stopping: AtomicBool::new(false), connections }
    }

    /// Wakes every worker that waits, in `accept` or for bytes. Requests that were read are still
    /// answered: only the reading side of a connection is shut.
    pub(super) fn shut_down(&self) {
        self.stopping.store(true, Ordering::SeqCst);
        let _listens_no_more = shutdown(self.listener, Shutdown::Both);
        for slot in &self.connections {
            let slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(socket) = slot.as_ref() {
                let _may_be_gone = shutdown(socket, Shutdown::Read);
            }
        }
    }

    fn publish(&self, number: usize, connection: Option<Arc<OwnedFd>>) {
        *self.connections[number].lock().unwrap_or_else(PoisonError::into_inner) = connection;
    }
}

pub(super) struct Worker<'a> {
    pub(super) number: usize,
    pub(super) pool: &'a Pool<'a>,
    pub(super) burner: Burner,
    pub(super) log: Option<&'a Log>,
}

impl Worker<'_> {
    pub(super) fn run(self) {
        let mut buffer = Box::new([0_u8; HEAD_MAX]);
        let mut pause = PAUSE;
        while !self.pool.stopping.load(Ordering::SeqCst) {
            match accept_with(self.pool.listener, SocketFlags::CLOEXEC) {
                Ok(socket) => {
                    pause = PAUSE;
                    self.serve(socket, &mut buffer);
                }
                // The connection broke while it waited: no fault of the listener's.
                Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => {}
                Err(_) if self.pool.stopping.load(Ordering::SeqCst) => return,
                Err(_) => {
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(PAUSE_MAX);
                }
            }
        }
    }

    fn serve(&self, socket: OwnedFd, buffer: &mut [u8; HEAD_MAX]) {
        let accepted_ns = monotonic_ns();
        let socket = Arc::new(socket);
        // Published before the flag is looked at (in `next`), so a stop misses neither.
        self.pool.publish(self.number, Some(Arc::clone(&socket)));
        let last = self.requests(&socket, buffer, accepted_ns);
        self.pool.publish(self.number, None);
        drop(socket);
        if let Some((row, cpu_begin_ns)) = last {
            self.write(row, cpu_begin_ns);
        }
    }

    /// Serves the connection to its end. The last request's row is handed back with the CPU time
    /// from which it counts: it is written after the close, which is part of its cost.
    fn requests(
        &self,
        socket: &OwnedFd,
        buffer: &mut [u8; HEAD_MAX],
        accepted_ns: i64,
    ) -> Option<(Row, i64)> {
        let mut cpu_begin_ns = thread_cpu_ns();
        let stopping = &self.pool.stopping;
        let mut connection = Connection { socket, buffer, filled: 0, stopping };
        if !connection.prepare() {
            return None;
        }
        let mut accepted_ns = Some(accepted_ns);
        loop {
            let request = match connection.next(accepted_ns) {
                Next::Request(request) => request,
                Next::End => return None,
                Next::Refused(refusal) => {
                    connection.refuse(refusal);
                    return None;
                }
            };
            let begin_ns = monotonic_ns();
            self.burner.burn();
            let end_ns = monotonic_ns();
            let keep = if stopping.load(Ordering::SeqCst) { Keep::Close } else { request.keep };
            let answered = connection.answer_ok(keep);
            let row = Row {
                worker: self.number,
                accepted_ns: accepted_ns.take().unwrap_or(request.first_ns),
                begin_ns,
                end_ns,
                cpu_ns: 0,
            };
            if !answered || keep == Keep::Close {
                return Some((row, cpu_begin_ns));
            }
            self.write(row, cpu_begin_ns);
            cpu_begin_ns = thread_cpu_ns();
        }
    }

    fn write(&self, row: Row, cpu_begin_ns: i64) {
        if let Some(log) = self.log {
            log.write(&Row { cpu_ns: thread_cpu_ns() - cpu_begin_ns, ..row });
        }
    }
}

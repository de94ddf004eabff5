//! Small real servers on the loopback. Their threads end with the test's process.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// How many connections a server has accepted.
#[derive(Clone, Default)]
pub(super) struct Accepted(Arc<AtomicUsize>);

impl Accepted {
    pub(super) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

/// Serves every connection on a thread of its own.
pub(super) fn serve(
    handler: impl Fn(&mut Client) + Send + Sync + 'static,
) -> (SocketAddr, Accepted) {
    let handler = Arc::new(handler);
    listen(move |stream| {
        let handler = Arc::clone(&handler);
        thread::spawn(move || handler(&mut Client::new(stream)));
    })
}

/// Serves one connection after the other.
pub(super) fn serve_one_by_one(
    handler: impl Fn(&mut Client) + Send + 'static,
) -> (SocketAddr, Accepted) {
    listen(move |stream| handler(&mut Client::new(stream)))
}

fn listen(each: impl Fn(TcpStream) + Send + 'static) -> (SocketAddr, Accepted) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    let accepted = Accepted::default();
    let counter = accepted.clone();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            counter.0.fetch_add(1, Ordering::SeqCst);
            each(stream);
        }
    });
    (address, accepted)
}

/// One connection, as the server sees it.
pub(super) struct Client(BufReader<TcpStream>);

impl Client {
    pub(super) fn new(stream: TcpStream) -> Self {
        stream.set_nodelay(true).expect("nodelay");
        Self(BufReader::new(stream))
    }

    /// Reads the head of the next request; `None` when the client has closed.
    pub(super) fn request(&mut self) -> Option<String> {
        let mut head = String::new();
        loop {
            let read = self.0.read_line(&mut head).ok()?;
            if read == 0 {
                return None;
            }
            if head.ends_with("\r\n\r\n") {
                return Some(head);
            }
        }
    }

    /// Reads a body.
    pub(super) fn body(&mut self, length: usize) -> Option<Vec<u8>> {
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).ok().map(|()| body)
    }

    /// Writes; `false` when the client has gone.
    pub(super) fn write(&mut self, text: &str) -> bool {
        self.0.get_mut().write_all(text.as_bytes()).is_ok()
    }

    /// The client's port.
    pub(super) fn port(&self) -> u16 {
        self.0.get_ref().peer_addr().expect("peer").port()
    }
}

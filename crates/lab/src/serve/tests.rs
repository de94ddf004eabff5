//! The server over real sockets on the loopback.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use unthrottle_source::Stop;

use super::connection::PATIENCE;
use super::*;

const GET: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
const GET_KEEP: &[u8] = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n";
const MS: i64 = 1_000_000;

struct Running {
    address: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

impl Running {
    fn finish(mut self) -> Result<(), ServeError> {
        self.stop.request();
        self.thread.take().expect("started").join().expect("no panic")
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).expect("connects");
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("sets a timeout");
        stream
    }

    /// Sends, reads until the server closes.
    fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        stream.write_all(bytes).expect("writes");
        read_all(&mut stream)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.request();
    }
}

fn options(workers: usize, cost_ns: i64) -> ServeOptions {
    ServeOptions {
        listen: "127.0.0.1:0".parse().expect("an address"),
        workers,
        cost_ns,
        burn: Burn::Clock,
        log: None,
        backlog: 128,
    }
}

fn start(options: &ServeOptions) -> Running {
    let server = Server::bind(options).expect("binds");
    let address = server.local_addr();
    let stop = Stop::default();
    let seen = stop.clone();
    let thread = Some(std::thread::spawn(move || server.run(&seen)));
    Running { address, stop, thread }
}

fn read_all(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    // A reset after the answer is still an answer.
    let _ended = stream.read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

fn read_answer(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut one = [0];
        match stream.read(&mut one) {
            Ok(1) => bytes.push(one[0]),
            _ => break,
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn rows(path: &Path) -> Vec<Vec<i64>> {
    let text = std::fs::read_to_string(path).expect("a log");
    let mut lines = text.lines();
    assert_eq!(lines.next(), Some(LOG_HEADER));
    lines.map(|l| l.split(',').map(|cell| cell.parse().expect("a number")).collect()).collect()
}

#[test]
fn answers_an_empty_200_and_closes() {
    let server = start(&options(1, 0));
    let answer = server.exchange(GET);
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains("\r\nContent-Length: 0\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
    server.finish().expect("runs to its end");
}

#[test]
fn as_many_requests_at_once_as_workers() {
    // Clock burn is CPU time, so overlap is judged by the log's spans, not by the wall clock.
    let dir = tempfile::tempdir().expect("a directory");
    for workers in [1, 3] {
        let log = dir.path().join(format!("{workers}.csv"));
        let server = start(&ServeOptions { log: Some(log.clone()), ..options(workers, 30 * MS) });
        let mut clients: Vec<_> = (0..6).map(|_| server.connect()).collect();
        for client in &mut clients {
            client.write_all(GET).expect("writes");
        }
        for client in &mut clients {
            assert!(read_all(client).starts_with("HTTP/1.1 200 "));
        }
        server.finish().expect("runs to its end");
        let rows = rows(&log);
        assert_eq!(rows.len(), 6);
        // How many spans hold the begin of each: the most is the concurrency.
        let most = rows
            .iter()
            .map(|at| rows.iter().filter(|r| r[1] <= at[1] && at[1] < r[3]).count())
            .max();
        assert_eq!(most, Some(workers), "{rows:?}");
        assert!(rows.iter().all(|r| (0..workers as i64).contains(&r[0])));
    }
}

#[test]
fn the_log_shows_the_cost() {
    let dir = tempfile::tempdir().expect("a directory");
    let log = dir.path().join("log.csv");
    let server = start(&ServeOptions { log: Some(log.clone()), ..options(2, 10 * MS) });
    for _ in 0..10 {
        assert!(server.exchange(GET).starts_with("HTTP/1.1 200 "));
    }
    server.finish().expect("runs to its end");
    let rows = rows(&log);
    assert_eq!(rows.len(), 10);
    for row in &rows {
        let [_, accepted, begin, end, cpu] = row.as_slice() else { panic!("{row:?}") };
        assert!(accepted <= begin && begin < end, "{row:?}");
        assert!(*cpu >= 10 * MS && end - begin >= 10 * MS, "{row:?}");
    }
    // Most of them, as a virtual machine may lose some milliseconds at any point.
    let close = rows.iter().filter(|row| row[4] < 11 * MS).count();
    assert!(close >= 8, "{rows:?}");
}

#[test]
fn hashing_costs_the_same_in_a_second_server() {
    let dir = tempfile::tempdir().expect("a directory");
    let first = dir.path().join("1.csv");
    let burn = Burn::Hash { hashes: None };
    let first_options = ServeOptions { burn, log: Some(first.clone()), ..options(1, 10 * MS) };
    let server = Server::bind(&first_options).expect("binds");
    let hashes = server.hashes().expect("calibrated");
    assert!(hashes > 1_000);
    drop(server);

    let given = Burn::Hash { hashes: Some(hashes) };
    let server = start(&ServeOptions { burn: given, ..first_options });
    for _ in 0..9 {
        assert!(server.exchange(GET).starts_with("HTTP/1.1 200 "));
    }
    server.finish().expect("runs to its end");
    let mut cpu: Vec<i64> = rows(&first).iter().map(|row| row[4]).collect();
    cpu.sort_unstable();
    // The same work; how long it takes changes with what else runs on the core.
    let ratio = cpu[4] as f64 / (10 * MS) as f64;
    assert!((0.5..2.0).contains(&ratio), "{ratio} {cpu:?}");
}

#[test]
fn connections_are_reused_until_asked_to_close() {
    let dir = tempfile::tempdir().expect("a directory");
    let log = dir.path().join("log.csv");
    let server = start(&ServeOptions { log: Some(log.clone()), ..options(1, MS) });
    let mut stream = server.connect();
    for _ in 0..3 {
        stream.write_all(GET_KEEP).expect("writes");
        let answer = read_answer(&mut stream);
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        assert!(!answer.contains("close"), "{answer}");
    }
    stream.write_all(GET).expect("writes");
    assert!(read_all(&mut stream).contains("Connection: close"));

    // HTTP/1.0 keeps only on request, and is told so.
    let kept =
        server.exchange(b"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n");
    assert_eq!(kept.matches("HTTP/1.1 200 ").count(), 2, "{kept}");
    assert!(kept.contains("Connection: keep-alive"), "{kept}");
    server.finish().expect("runs to its end");
    let rows = rows(&log);
    assert_eq!(rows.len(), 6);
    for pair in rows.windows(2) {
        assert!(pair[1][1] > pair[0][3], "arrival of a request is its own: {pair:?}");
    }
}

#[test]
fn a_worker_stays_with_its_connection() {
    let server = start(&options(1, 0));
    let mut held = server.connect();
    held.write_all(GET_KEEP).expect("writes");
    assert!(read_answer(&mut held).starts_with("HTTP/1.1 200 "));

    let mut waiting = server.connect();
    waiting.write_all(GET).expect("writes");
    waiting.set_read_timeout(Some(Duration::from_millis(200))).expect("sets a timeout");
    assert_eq!(read_all(&mut waiting), "", "the only worker is taken");
    drop(held);
    waiting.set_read_timeout(Some(Duration::from_secs(5))).expect("sets a timeout");
    assert!(read_all(&mut waiting).starts_with("HTTP/1.1 200 "));
    server.finish().expect("runs to its end");
}

#[test]
fn bodies_are_read_to_their_end() {
    let server = start(&options(1, 0));
    let mut stream = server.connect();
    let body = vec![b'x'; 200_000];
    stream.write_all(b"POST / HTTP/1.1\r\nContent-Length: 200000\r\n\r\n").expect("writes");
    stream.write_all(&body).expect("writes");
    // The next request begins right where the body ends.
    stream.write_all(GET).expect("writes");
    let answers = read_all(&mut stream);
    assert_eq!(answers.matches("HTTP/1.1 200 ").count(), 2, "{answers}");

    let mut polite = server.connect();
    polite
        .write_all(b"POST / HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n")
        .expect("writes");
    assert!(read_answer(&mut polite).starts_with("HTTP/1.1 100 "));
    polite.write_all(b"abc").expect("writes");
    assert!(read_answer(&mut polite).starts_with("HTTP/1.1 200 "));
    drop(polite);
    server.finish().expect("runs to its end");
}

#[test]
fn bad_clients_cost_only_their_own_connection() {
    let server = start(&options(1, 0));
    let huge = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "y".repeat(100_000));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(5_000));
    for (bytes, status) in [
        (b"\x16\x03\x01\x00\xa5\x01\x00\x00".as_slice(), "400"),
        (b"what is this\r\n\r\n", "400"),
        (b"POST / HTTP/1.1\r\nContent-Length: minus one\r\n\r\n", "400"),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "411"),
        (huge.as_bytes(), "431"),
        (many.as_bytes(), "431"),
    ] {
        let answer = server.exchange(bytes);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{status}: {answer}");
        assert!(server.exchange(GET).starts_with("HTTP/1.1 200 "), "after {status}");
    }
    // Gone at once, gone inside the head, gone inside the body, gone without reading the answer.
    let half_body = b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc".as_slice();
    for bytes in [b"".as_slice(), b"GET / HT", half_body, GET] {
        let mut stream = server.connect();
        stream.write_all(bytes).expect("writes");
        drop(stream);
    }
    // Half closed after a whole request: it still gets its answer.
    let mut half = server.connect();
    half.write_all(GET).expect("writes");
    half.shutdown(Shutdown::Write).expect("shuts");
    assert!(read_all(&mut half).starts_with("HTTP/1.1 200 "));
    server.finish().expect("runs to its end");
}

#[test]
fn a_client_that_never_reads_loses_its_connection() {
    let server = start(&options(1, 0));
    let mut deaf = server.connect();
    deaf.set_write_timeout(Some(Duration::from_millis(200))).expect("sets a timeout");
    let batch = GET_KEEP.repeat(500);
    // Until the answers fill every buffer on the way and the server lets go of it.
    let mut closed = false;
    for _ in 0..20_000 {
        if let Err(error) = deaf.write_all(&batch) {
            closed = error.kind() != std::io::ErrorKind::WouldBlock;
            break;
        }
    }
    assert!(closed, "the server did not close");
    assert!(server.exchange(GET).starts_with("HTTP/1.1 200 "));
    server.finish().expect("runs to its end");
}

#[test]
fn slow_clients_are_waited_for_within_reason() {
    let server = start(&options(1, 0));
    let mut slow = server.connect();
    for byte in GET {
        slow.write_all(&[*byte]).expect("writes");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert!(read_all(&mut slow).starts_with("HTTP/1.1 200 "));

    let begin = Instant::now();
    let mut silent = server.connect();
    silent.set_read_timeout(Some(Duration::from_secs(30))).expect("sets a timeout");
    assert!(read_all(&mut silent).starts_with("HTTP/1.1 408 "));
    assert!(begin.elapsed() >= PATIENCE, "{:?}", begin.elapsed());
    server.finish().expect("runs to its end");
}

#[test]
fn stops_while_waiting_reading_and_burning() {
    let server = start(&options(4, 100 * MS));
    let mut idle = server.connect();
    idle.write_all(GET_KEEP).expect("writes");
    assert!(read_answer(&mut idle).starts_with("HTTP/1.1 200 "));
    let mut unfinished = server.connect();
    unfinished.write_all(b"GET / HTTP/1.1\r\n").expect("writes");
    let mut burning = server.connect();
    burning.write_all(GET_KEEP).expect("writes");
    std::thread::sleep(Duration::from_millis(30));

    let begin = Instant::now();
    server.finish().expect("runs to its end");
    let took = begin.elapsed();
    // The machine may be busy with other tests; a server that waits for its clients takes longer.
    assert!(took < Duration::from_secs(5), "{took:?}");
    let answer = read_all(&mut burning);
    assert!(answer.starts_with("HTTP/1.1 200 "), "the request in hand is answered: {answer}");
    assert!(answer.contains("Connection: close"), "{answer}");
    assert_eq!(read_all(&mut idle), "");
    assert_eq!(read_all(&mut unfinished), "");
}

#[test]
fn refuses_what_cannot_work() {
    assert!(matches!(Server::bind(&options(0, 0)), Err(ServeError::NoWorkers)));
    assert!(matches!(Server::bind(&options(1, -1)), Err(ServeError::Cost { cost_ns: -1 })));
    let first = Server::bind(&options(1, 0)).expect("binds");
    let taken = ServeOptions { listen: first.local_addr(), ..options(1, 0) };
    let error = Server::bind(&taken).expect_err("the port is taken");
    assert_eq!(error.to_string(), format!("cannot listen on `{}`", first.local_addr()));
    assert!(
        unthrottle_model::Explained::hint(&error).is_some_and(|hint| hint.contains("ss -ltnp"))
    );
    let no_dir = ServeOptions { log: Some("/nonexistent/log".into()), ..options(1, 0) };
    assert!(matches!(Server::bind(&no_dir), Err(ServeError::Log { .. })));
}

#[test]
fn a_full_disk_is_reported_at_the_end() {
    // A file that can be opened and not written. The header is written at once, so at the start.
    let full = ServeOptions { log: Some("/dev/full".into()), ..options(1, 0) };
    let error = Server::bind(&full).expect_err("no room");
    assert_eq!(error.to_string(), "cannot write the request log `/dev/full`");
}

//! The server when descriptors run out. A binary of its own: the limit is the whole process'.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};
use unthrottle_lab::serve::{Burn, ServeOptions, Server};
use unthrottle_source::Stop;

fn process_cpu() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

#[test]
fn the_listener_waits_for_descriptors_without_spinning() {
    let server = Server::bind(&ServeOptions {
        listen: "127.0.0.1:0".parse().expect("an address"),
        workers: 4,
        cost_ns: 0,
        burn: Burn::Clock,
        log: None,
        backlog: 16,
    })
    .expect("binds");
    let address = server.local_addr();
    let stop = Stop::default();
    let seen = stop.clone();
    let thread = std::thread::spawn(move || server.run(&seen));

    let limits = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(64), ..limits }).expect("lowers");
    let mut fillers: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    fillers.pop().expect("one more than none");
    // The client has the last one, so the server has none for its side.
    let mut client = TcpStream::connect(address).expect("connects");
    client.write_all(b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n").expect("writes");

    let begin = process_cpu();
    std::thread::sleep(Duration::from_secs(1));
    let used = process_cpu() - begin;
    assert!(used < Duration::from_millis(50), "{used:?} of CPU in a second of waiting");

    client.set_read_timeout(Some(Duration::from_millis(100))).expect("sets a timeout");
    let mut answer = String::new();
    client.read_to_string(&mut answer).expect_err("nobody could accept yet");
    drop(fillers);
    client.set_read_timeout(Some(Duration::from_secs(5))).expect("sets a timeout");
    client.read_to_string(&mut answer).expect("reads");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    stop.request();
    thread.join().expect("no panic").expect("runs to its end");
}

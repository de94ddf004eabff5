//! Responses of every framing, over a real socket.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use super::server::{Client, serve};
use super::*;

#[test]
fn kept_connections_carry_many_requests() {
    let (address, accepted) = serve(|client| {
        while client.request().is_some_and(|head| !head.contains("Connection")) && client.write(OK)
        {
        }
    });
    let run = load(&LoadPlan { connections: Connections::Pool(2), ..plan(address, 60, 5 * MS) });
    all_ok(&run);
    // On a busy machine a request may find both connections busy: then it opens a third.
    assert_eq!(accepted.count() as u64, 2 + run.extra_connections);
    assert_eq!((run.reopened_connections, run.retried), (0, 0));
    let ports: BTreeSet<_> = run.rows.iter().map(|row| row.local_port).collect();
    assert_eq!(ports.len() as u64, 2 + run.extra_connections);
}

#[test]
fn new_connections_carry_one_request_and_their_ports_are_told() {
    let ports = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&ports);
    let (address, accepted) = serve(move |client| {
        assert!(client.request().is_some_and(|head| head.contains("Connection: close")));
        seen.lock().expect("lock").push(client.port());
        client.write(OK);
    });
    let run = load(&plan(address, 30, 2 * MS));
    all_ok(&run);
    assert_eq!(accepted.count(), 30);
    let mut seen = ports.lock().expect("lock").clone();
    let mut told: Vec<u16> = run.rows.iter().filter_map(|row| row.local_port).collect();
    seen.sort_unstable();
    told.sort_unstable();
    assert_eq!(seen, told);
}

/// Loads a server that answers `text` and, if it `closes`, ends the connection after it.
fn answered(text: &'static str, closes: bool, method: &str, connections: Connections) -> LoadRun {
    let (address, _) =
        serve(move |client| while client.request().is_some() && client.write(text) && !closes {});
    load(&LoadPlan { method: method.to_owned(), connections, ..plan(address, 5, 5 * MS) })
}

#[test]
fn every_framing() {
    for connections in [Connections::New, Connections::Pool(1)] {
        for (text, closes, status) in [
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", false, 200),
            (
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\nSum: 1\r\n\r\n",
                false,
                200,
            ),
            ("HTTP/1.1 404 No\r\n\r\nuntil the end", true, 404),
            ("HTTP/1.0 200 OK\r\n\r\n", true, 200),
            ("HTTP/1.1 204 None\r\n\r\n", false, 204),
            (
                "HTTP/1.1 103 Early\r\n\r\nHTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n",
                false,
                503,
            ),
        ] {
            let run = answered(text, closes, "GET", connections);
            all_ok(&run);
            assert!(run.rows.iter().all(|row| row.status == Some(status)), "{text}");
        }
        let run =
            answered("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", false, "HEAD", connections);
        all_ok(&run);
    }
}

#[test]
fn a_close_delimited_response_ends_with_the_connection() {
    let (address, _) = serve(|client| {
        client.request();
        client.write("HTTP/1.1 200 OK\r\n\r\nfirst");
        std::thread::sleep(std::time::Duration::from_millis(50));
        client.write("last");
    });
    let run = load(&plan(address, 3, MS));
    all_ok(&run);
    // The server was still to sleep when it had the request.
    assert!(run.rows.iter().all(|row| row.latency_sent_ns() >= Some(50 * MS)), "{run:?}");
}

#[test]
fn a_body_goes_out_whole() {
    // More than the buffers of both sides hold.
    const LENGTH: usize = 30_000_000;
    let (address, _) = serve(|client| {
        while client.request().is_some_and(|head| head.contains("Content-Length: 30000000")) {
            std::thread::sleep(std::time::Duration::from_millis(50));
            let body = client.body(LENGTH).unwrap_or_default();
            if !(body.iter().all(|byte| *byte == b'x') && body.len() == LENGTH && client.write(OK))
            {
                return;
            }
        }
    });
    for connections in [Connections::New, Connections::Pool(1)] {
        let method = "POST".to_owned();
        let body = vec![b'x'; LENGTH];
        all_ok(&load(&LoadPlan { method, body, connections, ..plan(address, 3, 20 * MS) }));
    }
}

#[test]
fn an_answer_before_the_whole_request_counts() {
    let (address, _) = serve(|client: &mut Client| {
        client.request();
        client.write("HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\n\r\n");
        std::thread::sleep(std::time::Duration::from_millis(300));
    });
    let body = vec![b'x'; 20_000_000];
    let connections = Connections::Pool(1);
    let run = load(&LoadPlan { body, connections, ..plan(address, 2, 150 * MS) });
    all_ok(&run);
    assert!(run.rows.iter().all(|row| row.status == Some(413)));
    // A connection with half a request in it is of no use for the next one.
    assert_eq!((run.retried, run.reopened_connections + run.extra_connections), (0, 1));
}

#[test]
fn a_server_that_drips_bytes_delays_nobody() {
    let (address, _) = serve(|client| {
        client.request();
        for byte in
            ["HTTP/1.1 200 OK\r\n", "X: y\r\n", "Content-Length: 4\r\n\r\nabcd"].concat().chars()
        {
            client.write(&byte.to_string());
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    });
    let run = load(&plan(address, 20, MS));
    all_ok(&run);
    assert!(run.rows.iter().all(|row| row.done_ns > row.first_byte_ns));
}

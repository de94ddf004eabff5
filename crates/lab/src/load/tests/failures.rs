//! What goes wrong with requests and servers, each as a row.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::server::{serve, serve_one_by_one};
use super::*;

fn words(run: &LoadRun) -> String {
    run.problems.iter().map(|problem| format!("{} x{}\n", problem.what, problem.count)).collect()
}

#[test]
fn refused_connections_are_rows() {
    let address = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port");
    for connections in [Connections::New, Connections::Pool(3)] {
        let run = load(&LoadPlan { connections, ..plan(address, 10, MS) });
        assert_eq!(count(&run, Outcome::Connect), 10);
        assert!(words(&run).contains("refused"), "{}", words(&run));
    }
}

#[test]
fn unreachable_hosts_are_rows_and_unknown_ones_an_error() {
    // The broadcast address: the kernel refuses it at once, and nothing leaves the machine.
    let address = "255.255.255.255:80".parse().expect("address");
    let run_of_it = load(&plan(address, 3, MS));
    assert_eq!(count(&run_of_it, Outcome::Connect), 3);
    assert_eq!(run_of_it.problems.len(), 1, "{:?}", run_of_it.problems);
    let url = "http://no-such-host.invalid/".parse().expect("url");
    let result = run(&LoadPlan { url, ..plan(address, 3, MS) }, &Stop::default(), &mut |_| ());
    let error = result.expect_err("no such host");
    assert!(matches!(error, crate::load::LoadError::Resolve { .. }), "{error}");
}

#[test]
fn a_server_that_closes_idle_connections_fails_no_request() {
    let (address, accepted) = serve(|client| {
        client.request();
        client.write(OK);
    });
    let run = load(&LoadPlan { connections: Connections::Pool(1), ..plan(address, 10, 20 * MS) });
    all_ok(&run);
    let others = run.reopened_connections + run.extra_connections + run.retried;
    assert_eq!(others, 9, "each request but the first needs another connection");
    assert_eq!(accepted.count(), 10);
}

#[test]
fn a_stale_connection_is_tried_once_more() {
    let (address, accepted) = serve(|client| {
        client.request();
        client.write(OK);
        // Takes the next request and closes: the client cannot have known.
        client.request();
    });
    let run = load(&LoadPlan { connections: Connections::Pool(1), ..plan(address, 10, 30 * MS) });
    all_ok(&run);
    assert!(run.retried >= 1, "{run:?}");
    assert_eq!(accepted.count() as u64, 1 + run.retried + run.extra_connections);
    let ports: Vec<_> = run.rows.iter().map(|row| row.local_port).collect();
    assert_ne!(ports[0], ports[1], "the port is that of the attempt that was answered");
}

#[test]
fn only_once_more() {
    let (address, _) = serve(|client| {
        client.request();
    });
    let run = load(&LoadPlan { connections: Connections::Pool(1), ..plan(address, 3, 100 * MS) });
    assert_eq!(count(&run, Outcome::Broken), 3);
    assert_eq!(run.retried, 1, "only the first one had an idle connection");
    assert!(words(&run).contains("before the response was complete"), "{}", words(&run));
}

#[test]
fn responses_that_break_off() {
    let (address, _) = serve(|client| {
        client.request();
        client.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc");
    });
    let run = load(&plan(address, 5, MS));
    assert_eq!(count(&run, Outcome::Broken), 5);
    assert!(run.rows.iter().all(|row| row.status == Some(200) && row.first_byte_ns.is_some()));
}

#[test]
fn garbage_is_not_waited_for() {
    for text in ["SSH-2.0-OpenSSH_9.2\r\n", "HTTP/1.1 2x0 OK\r\n\r\n", "\0\0\0\u{4}"] {
        let (address, _) = serve(move |client| {
            client.request();
            client.write(text);
            std::thread::sleep(Duration::from_secs(20));
        });
        let began = Instant::now();
        let run = load(&LoadPlan { timeout_ns: 20 * SEC, ..plan(address, 5, MS) });
        assert_eq!(count(&run, Outcome::BadResponse), 5);
        assert!(began.elapsed() < Duration::from_secs(10));
        assert!(!run.problems.is_empty());
    }
}

#[test]
fn silence_times_out() {
    let (address, _) = serve(|client| while client.request().is_some() {});
    for connections in [Connections::New, Connections::Pool(2)] {
        let run = load(&LoadPlan { timeout_ns: 100 * MS, connections, ..plan(address, 10, MS) });
        assert_eq!(count(&run, Outcome::Timeout), 10);
        assert!(run.rows.iter().all(|row| row.first_byte_ns.is_none()));
    }
}

#[test]
fn an_endless_response_times_out_and_delays_nobody() {
    let (address, _) = serve(|client| {
        client.request();
        client.write("HTTP/1.1 200 OK\r\n\r\n");
        let much = "x".repeat(1 << 20);
        while client.write(&much) {}
    });
    let run = load(&LoadPlan { timeout_ns: 300 * MS, ..plan(address, 4, 50 * MS) });
    assert_eq!(count(&run, Outcome::Timeout), 4);
    assert!(run.rows.iter().all(|row| row.first_byte_ns.is_some()));
}

#[test]
fn a_full_backlog_ends_by_the_timeout() {
    // One connection is accepted and held; the backlog of the others fills up or waits.
    let (address, _) = serve_one_by_one(|client| while client.request().is_some() {});
    let run = load(&LoadPlan { timeout_ns: 200 * MS, ..plan(address, 50, MS) });
    assert_eq!(count(&run, Outcome::Timeout), 50);
}

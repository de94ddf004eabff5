//! Runs against real servers on the loopback. They assert counts, orders and ratios; a time is
//! asserted only from below, or with so much room that a busy machine does not matter.

mod failures;
mod open_loop;
mod responses;
mod server;

use std::net::SocketAddr;

use unthrottle_model::requests::{Outcome, RequestRow};
use unthrottle_model::units::{MS, SEC};
use unthrottle_source::Stop;

use super::{Connections, LoadPlan, LoadRun, run};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

/// `count` requests, one every `gap_ns`, each on a connection of its own.
fn plan(address: SocketAddr, count: i64, gap_ns: i64) -> LoadPlan {
    LoadPlan {
        url: format!("http://{address}/").parse().expect("url"),
        method: "GET".to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
        schedule: (0..count).map(|k| k * gap_ns).collect(),
        connections: Connections::New,
        max_in_flight: 1000,
        timeout_ns: 20 * SEC,
        real_time: false,
    }
}

/// Runs it and checks what holds for every run: one row a send, in order, each once to the sink.
fn load(plan: &LoadPlan) -> LoadRun {
    load_until(plan, &Stop::default())
}

fn load_until(plan: &LoadPlan, stop: &Stop) -> LoadRun {
    let mut seen: Vec<RequestRow> = Vec::new();
    let result = run(plan, stop, &mut |rows| seen.extend_from_slice(rows)).expect("a run");
    check(plan, &result, seen);
    result
}

fn check(plan: &LoadPlan, run: &LoadRun, mut seen: Vec<RequestRow>) {
    assert_eq!(run.rows.len() as u64 + run.unsent, plan.schedule.len() as u64);
    for (row, offset) in run.rows.iter().zip(&plan.schedule) {
        assert_eq!(row.intended_ns, run.start_ns + offset);
        assert_eq!(row.sent_ns.is_none(), row.outcome == Outcome::Skipped, "{row:?}");
        assert!(row.lateness_ns().is_none_or(|late| late >= 0), "{row:?}");
        assert_eq!(row.done_ns.is_some(), row.outcome == Outcome::Ok, "{row:?}");
        if row.outcome == Outcome::Ok {
            assert!(row.sent_ns <= row.first_byte_ns, "{row:?}");
            assert!(row.first_byte_ns <= row.done_ns, "{row:?}");
            assert!(row.status.is_some() && row.local_port.is_some(), "{row:?}");
        }
    }
    // Rows may have the same intended time, so all of each is compared.
    let key = |row: &RequestRow| (row.intended_ns, row.sent_ns, row.done_ns, row.local_port);
    seen.sort_by_key(key);
    let mut rows = run.rows.clone();
    rows.sort_by_key(key);
    assert_eq!(seen, rows, "each row goes through the sink exactly once");
}

fn count(run: &LoadRun, outcome: Outcome) -> usize {
    run.rows.iter().filter(|row| row.outcome == outcome).count()
}

fn all_ok(run: &LoadRun) {
    let first = run.rows.iter().find(|row| row.outcome != Outcome::Ok);
    assert_eq!(first, None, "{:?}", run.problems);
}

#[test]
fn nothing_to_send() {
    let (address, accepted) = server::serve(|_| ());
    let run = load(&plan(address, 0, 1));
    assert_eq!((run.rows.len(), run.unsent, accepted.count()), (0, 0, 0));
    assert_eq!(run.real_time, Err("not asked for".to_owned()));
}

#[test]
fn real_time_is_had_or_its_refusal_told() {
    let (address, _) =
        server::serve(|client| while client.request().is_some() && client.write(OK) {});
    let run = load(&LoadPlan { real_time: true, ..plan(address, 3, MS) });
    all_ok(&run);
    assert!(run.real_time.is_ok() || run.real_time.is_err_and(|why| why.contains("os error")));
    assert!(run.cpu_ns > 0);
}

#[test]
fn a_name_with_addresses_of_both_families() {
    let (address, _) =
        server::serve(|client| while client.request().is_some() && client.write(OK) {});
    let url = format!("http://localhost:{}/", address.port()).parse().expect("url");
    let run = load(&LoadPlan { url, ..plan(address, 3, MS) });
    all_ok(&run);
    assert_eq!(run.address, address);
}

#[test]
fn a_panic_in_the_sink_ends_the_run() {
    let (address, _) =
        server::serve(|client| while client.request().is_some() && client.write(OK) {});
    let began = std::time::Instant::now();
    let long = plan(address, 600, 100 * MS);
    let result = std::panic::catch_unwind(|| {
        run(&long, &Stop::default(), &mut |_| panic!("a sink that fails, on purpose"))
    });
    assert!(result.is_err());
    assert!(began.elapsed().as_secs() < 30, "the schedule was not run to its end");
}

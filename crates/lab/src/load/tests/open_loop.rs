//! No send ever waits for a response.

use std::net::TcpListener;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use unthrottle_source::monotonic_ns;

use super::server::{Client, serve, serve_one_by_one};
use super::*;

#[test]
fn a_slow_server_does_not_slow_the_sends() {
    const SERVICE: i64 = 300 * MS;
    let gap = 50 * MS;
    let (address, _) = serve_one_by_one(|client| {
        client.request();
        thread::sleep(Duration::from_nanos(SERVICE as u64));
        client.write(OK);
    });
    let run = load(&plan(address, 8, gap));
    all_ok(&run);
    let sent_before_first_answer =
        run.rows.iter().filter(|row| row.sent_ns < run.rows[0].done_ns).count();
    assert!(sent_before_first_answer >= 3, "{sent_before_first_answer} of 6 due");
    for (k, row) in (0_i64..).zip(&run.rows) {
        // The server's one worker has all the requests before this one to do first.
        let least = (k + 1) * SERVICE - k * gap;
        let latency = row.latency_intended_ns().expect("ok");
        assert!(latency >= least, "{k}: {latency} ns, at least {least}");
    }
    // Were the sends to wait for the server, most would be late by more than one service.
    let on_time = run.rows.iter().filter(|row| row.lateness_ns() < Some(SERVICE)).count();
    assert!(on_time > 4, "{on_time} of 8");
}

#[test]
fn a_busy_pool_opens_further_connections() {
    let arrived = AtomicUsize::new(0);
    let (address, accepted) = serve(move |client| {
        while client.request().is_some() {
            // Nobody is answered before all have come, so that no connection can be reused.
            arrived.fetch_add(1, Ordering::SeqCst);
            while arrived.load(Ordering::SeqCst) < 20 {
                thread::sleep(Duration::from_millis(1));
            }
            client.write(OK);
        }
    });
    let run = load(&LoadPlan { connections: Connections::Pool(2), ..plan(address, 20, MS) });
    all_ok(&run);
    assert_eq!((run.extra_connections, run.reopened_connections), (18, 0));
    assert_eq!(accepted.count(), 20);
}

#[test]
fn no_more_than_the_pool_are_kept_idle() {
    let open = Arc::new(AtomicUsize::new(0));
    let at_requests = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&at_requests);
    let (address, _) = serve(move |client| {
        open.fetch_add(1, Ordering::SeqCst);
        while client.request().is_some() {
            seen.lock().expect("lock").push(open.load(Ordering::SeqCst));
            // All are open at once before any is answered.
            while open.load(Ordering::SeqCst) < 20 && seen.lock().expect("lock").len() < 20 {
                thread::sleep(Duration::from_millis(1));
            }
            client.write(OK);
        }
        open.fetch_sub(1, Ordering::SeqCst);
    });
    let mut schedule = vec![0; 20];
    schedule.push(SEC);
    let connections = Connections::Pool(2);
    all_ok(&load(&LoadPlan { schedule, connections, ..plan(address, 0, 1) }));
    let seen = at_requests.lock().expect("lock");
    // Two, and on a busy machine those whose end the server has not seen yet; all were 20.
    assert!(seen.last().is_some_and(|open| *open < 10), "{seen:?}");
}

#[test]
fn a_connection_that_takes_long_is_waited_for() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    // One may wait to be accepted; the kernel drops what the others ask, and they ask again after
    // a second.
    rustix::net::listen(&listener, 0).expect("a short backlog");
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        let handler = |stream| {
            let mut client = Client::new(stream);
            client.request();
            client.write(OK);
        };
        for stream in listener.incoming().flatten() {
            thread::spawn(move || handler(stream));
        }
    });
    let run = load(&plan(address, 6, MS));
    all_ok(&run);
    let late = run.rows.iter().filter(|row| row.latency_sent_ns() > Some(800 * MS)).count();
    assert!(late >= 1, "{run:?}");
    let on_time = run.rows.iter().filter(|row| row.lateness_ns() < Some(800 * MS)).count();
    assert_eq!(on_time, 6, "the wait is the connection's, not the generator's");
}

#[test]
fn the_cap_skips_and_counts() {
    let (address, _) = serve(|client| while client.request().is_some() {});
    let capped = LoadPlan { max_in_flight: 3, timeout_ns: SEC, ..plan(address, 10, 10 * MS) };
    let run = load(&capped);
    let outcomes: Vec<Outcome> = run.rows.iter().map(|row| row.outcome).collect();
    let expected = [[Outcome::Timeout; 3].as_slice(), &[Outcome::Skipped; 7]].concat();
    assert_eq!(outcomes, expected);
}

#[test]
fn a_stop_ends_at_once() {
    let (address, _) = serve(|client| while client.request().is_some() {});
    // With sends that wake the pacer all the time, and with none for a minute.
    for plan in [plan(address, 1000, 10 * MS), plan(address, 2, 60 * SEC)] {
        // The best of a few: a busy machine may make any single one slow.
        let runs: Vec<(Duration, usize)> = (0..5).map(|_| stopped_after(&plan)).collect();
        let best = runs.iter().map(|(took, _)| took).min();
        assert!(best.is_some_and(|took| *took < Duration::from_millis(100)), "{runs:?}");
        assert!(runs.iter().any(|(_, in_flight)| *in_flight > 0), "{runs:?}");
    }
}

/// How long the run took to end after it was stopped, and how many requests it had in flight.
fn stopped_after(plan: &LoadPlan) -> (Duration, usize) {
    let stop = Stop::default();
    let stopper = stop.clone();
    let at = thread::spawn(move || {
        thread::sleep(Duration::from_millis(300));
        stopper.request();
        Instant::now()
    });
    let run = load_until(plan, &stop);
    let took = at.join().expect("the stopper").elapsed();
    assert!(run.unsent >= plan.schedule.len() as u64 / 2, "{}", run.unsent);
    assert_eq!(count(&run, Outcome::Unfinished), run.rows.len());
    (took, run.rows.len())
}

#[test]
fn a_stop_before_the_start() {
    let (address, _) = serve(|_| ());
    let stop = Stop::default();
    stop.request();
    let run = load_until(&plan(address, 5, MS), &stop);
    assert_eq!((run.rows.len(), run.unsent), (0, 5));
}

#[test]
fn a_slow_sink_delays_no_send() {
    let (address, _) = serve(|client| {
        client.request();
        client.write(OK);
    });
    let plan = plan(address, 500, 5 * MS);
    let mut seen = Vec::new();
    let mut asleep = Vec::new();
    let began = Instant::now();
    let result = run(&plan, &Stop::default(), &mut |rows| {
        assert!(!rows.is_empty());
        seen.extend_from_slice(rows);
        let from = monotonic_ns();
        thread::sleep(Duration::from_millis(900));
        asleep.push(from..monotonic_ns());
    })
    .expect("a run");
    check(&plan, &result, seen);
    all_ok(&result);
    assert!(asleep.len() >= 2, "{asleep:?}");
    assert!(asleep.len() as u64 <= began.elapsed().as_secs() + 2, "{asleep:?}");
    let sent = result.rows.iter().filter_map(|row| row.sent_ns);
    let meanwhile = sent.filter(|sent| asleep.iter().any(|span| span.contains(sent))).count();
    assert!(meanwhile > 100, "{meanwhile} of 500 were sent while the sink slept, 300 were due");
}

#[test]
fn many_at_one_instant() {
    let (address, _) = serve(|client| while client.request().is_some() && client.write(OK) {});
    let schedule = vec![0; 300];
    let run = load(&LoadPlan { schedule, ..plan(address, 0, 1) });
    all_ok(&run);
    let pooled = LoadPlan {
        schedule: (0..300).map(|k| k / 100 * 300 * MS).collect(),
        connections: Connections::Pool(100),
        ..plan(address, 0, 1)
    };
    all_ok(&load(&pooled));
}

//! One run: the pacing thread, and rows from it to the caller.

use std::net::SocketAddr;
use std::thread;

use rustix::time::{ClockId, clock_gettime};
use unthrottle_model::requests::{Outcome, RequestRow};
use unthrottle_model::units::SEC;
use unthrottle_source::{Stop, monotonic_ns, priority};

use super::error::LoadError;
use super::pacer::{Cause, Pacer};
use super::plan::LoadPlan;
use super::poll::{Ender, Poll};
use super::rows::{Finished, Rows};
use super::socket;

/// Below the kernel's own interrupt threads, which have 50 where there are any.
const PRIORITY: i32 = 40;
/// Descriptors of this process that are not connections of the load.
const OTHER_FILES: usize = 100;

/// What happened.
#[derive(Debug)]
pub struct LoadRun {
    /// When the schedule started, ns of `CLOCK_MONOTONIC`.
    pub start_ns: i64,
    /// One row a scheduled send that was due, in order of their intended time.
    pub rows: Vec<RequestRow>,
    /// Whether the pacing thread had real-time priority; if not, why.
    pub real_time: Result<(), String>,
    /// The address that was loaded, of those the name has.
    pub address: SocketAddr,
    /// Connections opened although the pool's were all there, because all were busy.
    pub extra_connections: u64,
    /// Connections opened because the pool was not complete: the server had closed some, or they
    /// could not be opened before the start.
    pub reopened_connections: u64,
    /// Requests sent again because the server had closed the idle connection.
    pub retried: u64,
    /// Scheduled sends that were never made, as the run was stopped before.
    pub unsent: u64,
    /// CPU time of the pacing thread, ns.
    pub cpu_ns: i64,
    /// What went wrong with requests and connections, most frequent first.
    pub problems: Vec<Problem>,
}

/// Something that went wrong, and how often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What it made of the request.
    pub outcome: Outcome,
    /// In words.
    pub what: String,
    /// How often.
    pub count: u64,
}

/// Runs `plan` and returns when the last response is there or has timed out, or on `stop`.
///
/// `sink` is called in the caller's thread, about once a second, with the rows that ended since;
/// every row goes through it exactly once, in the order in which they ended. However long it takes,
/// it delays no send. On `stop` the requests in flight become rows with
/// [`Outcome::Unfinished`], and what was not due yet is only counted.
///
/// A request that has timed out is given up as most clients do: its connection is closed, and the
/// server may still work on it. Its port stays taken for up to a minute; where some ten thousand
/// are, the kernel takes long to find a free one, which shows as lateness.
///
/// # Errors
/// If the plan makes no sense, the host has no address, or the kernel refuses the thread or the
/// means to wait. A server that refuses connections is not an error: its rows say so.
pub fn run(
    plan: &LoadPlan,
    stop: &Stop,
    sink: &mut dyn FnMut(&[RequestRow]),
) -> Result<LoadRun, LoadError> {
    plan.check()?;
    let address = socket::choose(&plan.url.resolve()?, plan.timeout_ns)
        .ok_or_else(|| system("looking for an address")(std::io::ErrorKind::NotFound.into()))?;
    let files = plan.max_in_flight.saturating_add(plan.pool_size()).saturating_add(OTHER_FILES);
    socket::raise_open_files(files as u64);
    let ender = Ender::new().map_err(system("making an eventfd"))?;
    let poll = Poll::new(&ender).map_err(system("making an epoll with a timer"))?;
    let (rows, finished) = Rows::new(plan.schedule.len());
    let caller = thread::current();
    thread::scope(|scope| {
        // Also when `sink` panics: the scope waits for the thread.
        let _ending = EndOnDrop(&ender);
        let thread = thread::Builder::new()
            .name("unthrottle-pace".to_owned())
            .spawn_scoped(scope, move || {
                let result = pace(Pacer::new(plan, stop, address, poll, rows));
                caller.unpark();
                result
            })
            .map_err(system("starting the pacing thread"))?;
        let mut last = pump(&finished, stop, &ender, sink);
        let (run, rest) = thread.join().unwrap_or_else(|bug| std::panic::resume_unwind(bug))?;
        last.extend(rest);
        if !last.is_empty() {
            sink(&last);
        }
        Ok(run)
    })
}

fn system(what: &'static str) -> impl Fn(std::io::Error) -> LoadError {
    move |source| LoadError::System { what, source }
}

struct EndOnDrop<'a>(&'a Ender);

impl Drop for EndOnDrop<'_> {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// The caller's side, until the pacer has ended; the rows that `sink` has not seen yet.
fn pump(
    finished: &Finished,
    stop: &Stop,
    ender: &Ender,
    sink: &mut dyn FnMut(&[RequestRow]),
) -> Vec<RequestRow> {
    let mut rows = Vec::new();
    let mut next_ns = monotonic_ns() + SEC;
    while finished.drain_into(&mut rows) {
        if stop.requested() {
            ender.end();
        }
        let now = monotonic_ns();
        if !rows.is_empty() && now >= next_ns {
            sink(&rows);
            rows.clear();
            next_ns = now + SEC;
        }
        thread::park_timeout(Stop::LOOK_EVERY);
    }
    rows
}

/// The whole of the pacing thread; with the run, the rows that could not be handed over.
fn pace(mut pacer: Pacer<'_>) -> Result<(LoadRun, Vec<RequestRow>), LoadError> {
    let real_time = if pacer.plan.real_time {
        priority::real_time(PRIORITY).map_err(|error| error.to_string())
    } else {
        Err("not asked for".to_owned())
    };
    pacer.open_pool().map_err(system("waiting for connections"))?;
    pacer.drive().map_err(system("waiting for events"))?;
    let mut causes = std::mem::take(&mut pacer.tally.causes);
    causes.sort_by_key(|(_, _, count)| std::cmp::Reverse(*count));
    let problems = causes
        .into_iter()
        .map(|(outcome, cause, count)| Problem { outcome, what: words(cause), count })
        .collect();
    let cpu = clock_gettime(ClockId::ThreadCPUTime);
    let (start_ns, address, unsent) = (pacer.start_ns(), pacer.address, pacer.unsent() as u64);
    let (rows, rest) = pacer.rows.into_all();
    let run = LoadRun {
        start_ns,
        rows,
        real_time,
        address,
        extra_connections: pacer.tally.extra,
        reopened_connections: pacer.tally.reopened,
        retried: pacer.tally.retried,
        unsent,
        cpu_ns: cpu.tv_sec * SEC + cpu.tv_nsec,
        problems,
    };
    Ok((run, rest))
}

fn words(cause: Cause) -> String {
    match cause {
        Cause::Kernel(error) => error.to_string(),
        Cause::Answer(bad) => bad.to_string(),
        Cause::Closed => "the server closed the connection before the response was complete".into(),
    }
}

//! One experiment: a workload in a quota group of its own, loaded and watched.
//!
//! The group, the workload and the load belong to this process; whatever way it ends, the group is
//! removed (see [`unthrottle_lab::placement`]).

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use unthrottle_lab::load::{Connections, LoadPlan, LoadRun, run as run_load};
use unthrottle_lab::placement::{GroupSpec, Guard, Place, Process, Removed, Weight};
use unthrottle_model::Quota;
use unthrottle_model::recording::Recording;
use unthrottle_model::rows::LossRow;
use unthrottle_model::units::SEC;
use unthrottle_source::watch::{Watch, WatchOptions};
use unthrottle_source::{Root, Stop};

use crate::cli::output::talk;
use crate::error::Error;
use crate::session;

/// Time a request may take before it counts as failed, ns.
const TIMEOUT_NS: i64 = 30 * SEC;

/// Time the workload may take to listen; hashing is calibrated in it.
const READY: Duration = Duration::from_secs(20);

/// What to run.
#[derive(Debug, Clone)]
pub struct Setting {
    /// Limit of the group; `None` = without.
    pub limit: Option<Quota>,
    /// Threads that serve.
    pub workers: usize,
    /// CPU time per request, ns.
    pub cost_ns: i64,
    /// When requests are sent: offsets from the start, ns.
    pub schedule: Vec<i64>,
    /// Length of the load, ns.
    pub for_ns: i64,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// What was seen, with the requests.
    pub recording: Recording,
    /// What the generator says of itself.
    pub load: LoadRun,
    /// What was taken back.
    pub removed: Removed,
}

/// First line of the workload on stdout, once it listens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ready {
    /// Address with the port that was taken.
    pub listening: String,
    /// Hashes per request, if it burns by hashing.
    pub hashes: Option<u64>,
}

/// Runs it; `None` if asked to stop before the end. `seen` is told the time loaded so far.
///
/// # Errors
/// If no group can be made here, or the workload does not start.
pub fn run(setting: &Setting, stop: &Stop, seen: impl Fn(i64)) -> Result<Option<Outcome>, Error> {
    let place = Place::current()?;
    let spec = GroupSpec { limit: setting.limit, weight: Weight::High };
    let mut guard = Guard::create(&place, &spec)?;
    tell_cleaned(&guard);
    let url = start_workload(&mut guard, setting, stop)?;
    let Some(url) = url else { return Ok(None) };
    let plan = LoadPlan {
        url: url.parse()?,
        method: "GET".to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
        schedule: setting.schedule.clone(),
        connections: Connections::New,
        max_in_flight: 10_000,
        timeout_ns: TIMEOUT_NS,
        real_time: true,
    };
    let (mut recording, load) = load_and_watch(&guard, &plan, setting.for_ns, stop, seen)?;
    recording.rows.losses.extend(notes(&guard, &load));
    recording.rows.requests.clone_from(&load.rows);
    let removed = guard.remove()?;
    Ok((!stop.requested()).then_some(Outcome { recording, load, removed }))
}

fn load_and_watch(
    guard: &Guard,
    plan: &LoadPlan,
    for_ns: i64,
    stop: &Stop,
    seen: impl Fn(i64),
) -> Result<(Recording, LoadRun), Error> {
    let (fs, target) = session::find(&Root::machine(), &format!("cgroup:{}", guard.path()))?;
    // The load ends the watch; the time here is only for a load that never ends.
    let longest = for_ns + TIMEOUT_NS + 60 * SEC;
    let options = WatchOptions { for_ns: longest, interval_ns: session::INTERVAL_NS };
    let (meta, watch) = Watch::start(&fs, &target, &options, stop)?;
    let begin_ns = unthrottle_source::monotonic_ns();
    let mut recording = Recording::new(meta);
    let ender = watch.ender();
    let load = std::thread::scope(|scope| {
        let load = scope.spawn(|| {
            let result = run_load(plan, stop, &mut |_rows| {});
            ender.request();
            result
        });
        while let Some(batch) = watch.next_batch() {
            recording.push(batch);
            seen(unthrottle_source::monotonic_ns() - begin_ns);
        }
        load.join().unwrap_or_else(|bug| std::panic::resume_unwind(bug))
    })?;
    Ok((recording, load))
}

/// Says what was left by runs that were killed, and is gone now.
pub fn tell_cleaned(guard: &Guard) {
    for path in guard.cleaned() {
        talk(&format!("removed {}, left by a run that was killed\n", path.display()));
    }
}

/// What could not be had for this run, and so makes it weaker.
fn notes(guard: &Guard, load: &LoadRun) -> Vec<LossRow> {
    let mut notes: Vec<LossRow> = guard
        .notes()
        .iter()
        .map(|note| LossRow {
            field: "machine".to_owned(),
            reason: note.clone(),
            hint: String::new(),
        })
        .collect();
    if let Err(why) = &load.real_time {
        notes.push(LossRow {
            field: "requests.lateness".to_owned(),
            reason: format!("the load generator ran without real-time priority: {why}"),
            hint: "run as root, or grant CAP_SYS_NICE".to_owned(),
        });
    }
    notes
}

/// Starts `lab serve` inside the group and waits until it listens; `None` if asked to stop.
fn start_workload(
    guard: &mut Guard,
    setting: &Setting,
    stop: &Stop,
) -> Result<Option<String>, Error> {
    let mut command = serve_command()?;
    command.args(["--listen", "127.0.0.1:0"]);
    command.args(["--workers", &setting.workers.to_string()]);
    command.args(["--cost", &format!("{}ns", setting.cost_ns)]);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    let process = guard.spawn(command)?;
    let Some(line) = first_line(&process, stop)? else { return Ok(None) };
    let ready: Ready = serde_json::from_str(&line).map_err(|error| {
        Error::machine(
            format!("the workload said `{}` instead of where it listens: {error}", line.trim()),
            "try it alone with `unthrottle lab serve`",
        )
    })?;
    Ok(Some(format!("http://{}/", ready.listening)))
}

/// `lab serve` of this very program.
///
/// # Errors
/// If this program's own file cannot be named.
pub fn serve_command() -> Result<Command, Error> {
    let own = std::env::current_exe().map_err(|error| {
        Error::machine(format!("cannot find this program's own file: {error}"), "is /proc mounted?")
    })?;
    let mut command = Command::new(own);
    command.args(["lab", "serve"]);
    Ok(command)
}

fn first_line(process: &Process, stop: &Stop) -> Result<Option<String>, Error> {
    let Some(out) = process.take_stdout() else { return Ok(None) };
    let (sender, lines) = mpsc::channel();
    // Ends with the workload at the latest, whose end closes the pipe.
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = BufReader::new(out).read_line(&mut line);
        let _ = sender.send(line);
    });
    let mut waited = Duration::ZERO;
    while !stop.requested() && waited < READY {
        match lines.recv_timeout(Stop::LOOK_EVERY) {
            Ok(line) if !line.is_empty() => return Ok(Some(line)),
            Ok(_) | Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => waited += Stop::LOOK_EVERY,
        }
    }
    if stop.requested() {
        return Ok(None);
    }
    Err(Error::machine(
        format!("the workload did not start to listen within {} s", READY.as_secs()),
        "try it alone with `unthrottle lab serve`",
    ))
}

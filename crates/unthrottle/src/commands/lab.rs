//! `lab serve`, `lab load`, `lab clean`.

use std::io::Write;
use std::path::Path;

use unthrottle_analysis::latency::Requests;
use unthrottle_lab::load::{LoadPlan, LoadRun, hdr_log, run as run_load};
use unthrottle_lab::placement::{self, GroupSpec, Guard, Kept, Place, Weight};
use unthrottle_lab::serve::{Burn, ServeOptions, Server};
use unthrottle_model::arrivals::{Arrivals, parse_replay};
use unthrottle_model::requests::{CSV_HEADER, Outcome, RequestRow, to_csv_line};
use unthrottle_source::Stop;

use super::print;
use crate::cli::Exit;
use crate::cli::args::{BurnKind, Format, LabClean, LabCommand, LabLoad, LabServe};
use crate::cli::output::talk;
use crate::cli::progress::Progress;
use crate::error::{EncodeError, Error};
use crate::experiment::{Ready, serve_command, tell_cleaned};
use crate::files::{self, FileError};

/// Runs one of them.
///
/// # Errors
/// As the command says.
pub fn run(command: &LabCommand, stop: &Stop) -> Result<Exit, Error> {
    match command {
        LabCommand::Serve(options) if options.limited() => serve_limited(options, stop),
        LabCommand::Serve(options) => serve(options, stop),
        LabCommand::Load(options) => load(options, stop),
        LabCommand::Clean(options) => clean(options),
    }
}

fn serve(options: &LabServe, stop: &Stop) -> Result<Exit, Error> {
    let burn = match options.burn {
        BurnKind::Clock if options.hashes.is_some() => {
            return Err(Error::user(
                "`--hashes` is for `--burn hash` only",
                "add `--burn hash`, or leave `--hashes` out",
            ));
        }
        BurnKind::Clock => Burn::Clock,
        BurnKind::Hash => Burn::Hash { hashes: options.hashes },
    };
    let server = Server::bind(&ServeOptions {
        listen: options.listen,
        workers: options.workers,
        cost_ns: options.cost,
        burn,
        log: options.log.clone(),
        backlog: options.backlog,
    })?;
    let ready = Ready { listening: server.local_addr().to_string(), hashes: server.hashes() };
    let line = serde_json::to_string(&ready).map_err(EncodeError)?;
    print(&format!("{line}\n"))?;
    server.run(stop)?;
    Ok(Exit::Fine)
}

/// The same command in a group of its own, until it ends or a signal comes.
fn serve_limited(options: &LabServe, stop: &Stop) -> Result<Exit, Error> {
    let spec = GroupSpec { limit: options.quota(), weight: Weight::Default };
    let mut guard = Guard::create(&Place::current()?, &spec)?;
    tell_cleaned(&guard);
    for note in guard.notes() {
        talk(&format!("note: {note}\n"));
    }
    talk(&format!("serving in `{}`; explain it with:\n", guard.path()));
    talk(&format!("  unthrottle explain cgroup:{}\n", guard.path()));
    let mut command = serve_command()?;
    command.args(options.without_limit());
    let process = guard.spawn(command)?;
    let status = loop {
        let ended = process
            .wait_for(Stop::LOOK_EVERY)
            .map_err(|error| Error::machine(format!("cannot wait for the server: {error}"), ""))?;
        if ended.is_some() || stop.requested() {
            break ended;
        }
    };
    guard.remove()?;
    match status.and_then(|status| status.code()) {
        // It said itself what was wrong.
        Some(code) if code != 0 => Ok(Exit::Code(u8::try_from(code).unwrap_or(4))),
        _ => Ok(Exit::Fine),
    }
}

fn load(options: &LabLoad, stop: &Stop) -> Result<Exit, Error> {
    let schedule = schedule(options)?;
    let mut plan = LoadPlan {
        url: options.url.parse()?,
        method: options.method.clone(),
        headers: options.headers()?,
        body: options.body.clone().unwrap_or_default().into_bytes(),
        schedule,
        connections: options.connections,
        max_in_flight: options.max_in_flight,
        timeout_ns: options.timeout,
        real_time: !options.no_real_time,
    };
    plan.schedule.shrink_to_fit();
    if options.hdr.is_some() && options.hdr == options.requests {
        return Err(Error::user(
            "`--requests` and `--hdr` name the same file",
            "give each a file of its own",
        ));
    }
    if let Some(path) = &options.hdr {
        files::try_write(path)?;
    }
    let mut file = options.requests.as_deref().map(RowFile::create).transpose()?;
    let progress = Progress::new("loading", options.for_ns);
    let begin_ns = unthrottle_source::monotonic_ns();
    let run = run_load(&plan, stop, &mut |rows| {
        if let Some(file) = &mut file {
            file.write(rows);
        }
        progress.at(unthrottle_source::monotonic_ns() - begin_ns);
    })?;
    drop(progress);
    if let Some(file) = file {
        file.finish()?;
    }
    if let Some(path) = &options.hdr {
        let log = hdr_log(&run.rows, run.start_ns)?;
        files::write(path, &log)?;
    }
    report(options, &run)?;
    let answered = run.rows.iter().any(|row| row.outcome == Outcome::Ok);
    Ok(match (stop.requested(), answered || run.rows.is_empty()) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Fine,
        (false, false) => Exit::NotMeasured,
    })
}

fn schedule(options: &LabLoad) -> Result<Vec<i64>, Error> {
    let replay = match &options.arrivals {
        Arrivals::Replay { file, .. } => {
            let text = files::read(file.as_ref())?;
            let replay = parse_replay(&text)?;
            if replay.spread_within_seconds {
                talk(
                    "note: the log has whole seconds only: arrivals of one second are spread evenly \
                     over it, so bursts within a second are not reproduced\n",
                );
            }
            Some(replay.offsets_ns)
        }
        _ => None,
    };
    Ok(options.arrivals.schedule(options.seed, options.for_ns, replay.as_deref())?)
}

fn report(options: &LabLoad, run: &LoadRun) -> Result<(), Error> {
    let facts = Requests::of(&run.rows, i64::MIN, i64::MAX);
    let about = unthrottle_report::contract::LoadFacts {
        url: options.url.clone(),
        arrivals: options.arrivals.to_string(),
        seed: options.seed,
        for_ns: options.for_ns,
        start_ns: run.start_ns,
        connections: options.connections.to_string(),
        extra_connections: run.extra_connections,
        reopened_connections: run.reopened_connections,
        retried: run.retried,
        unsent: run.unsent,
        real_time: run.real_time.clone(),
        generator_cpu_ns: run.cpu_ns,
        problems: run.problems.iter().map(|each| (each.what.clone(), each.count)).collect(),
    };
    let document = unthrottle_report::contract::load(&about, facts.as_ref());
    print(&match options.format {
        Format::Text => unthrottle_report::text::load(&document),
        Format::Json => unthrottle_report::json(&document).map_err(EncodeError)?,
    })?;
    Ok(())
}

/// Rows as they come. A disk that fails loses rows, not the load: it is told at the end.
struct RowFile<'a> {
    path: &'a Path,
    file: std::fs::File,
    failed: Option<std::io::Error>,
}

impl<'a> RowFile<'a> {
    fn create(path: &'a Path) -> Result<Self, Error> {
        let write = |source| FileError { what: "write", path: path.to_owned(), source };
        let mut file = std::fs::File::create(path).map_err(write)?;
        writeln!(file, "{CSV_HEADER}").map_err(write)?;
        Ok(Self { path, file, failed: None })
    }

    fn write(&mut self, rows: &[RequestRow]) {
        if self.failed.is_none() {
            let lines: String = rows.iter().map(|row| to_csv_line(row) + "\n").collect();
            self.failed = self.file.write_all(lines.as_bytes()).err();
        }
    }

    fn finish(self) -> Result<(), Error> {
        match self.failed {
            None => Ok(()),
            Some(source) => {
                Err(FileError { what: "write", path: self.path.to_owned(), source }.into())
            }
        }
    }
}

fn clean(_options: &LabClean) -> Result<Exit, Error> {
    let report = placement::clean(&placement::roots()?)?;
    let mut text = String::new();
    for path in &report.removed {
        text += &format!("removed {}\n", path.display());
    }
    if report.killed > 0 {
        text += &format!("ended {} processes in them\n", report.killed);
    }
    for (path, why) in &report.kept {
        let why = match why {
            Kept::Live { pid } => format!("its owner, process {pid}, runs"),
            Kept::OtherPidNamespace => "its owner is in another pid namespace".to_owned(),
        };
        text += &format!("kept {}: {why}\n", path.display());
    }
    if text.is_empty() && report.failed.is_empty() {
        text += "nothing to clean\n";
    }
    print(&text)?;
    if report.failed.is_empty() {
        return Ok(Exit::Fine);
    }
    let failed: Vec<String> =
        report.failed.iter().map(|(path, why)| format!("`{}`: {why}", path.display())).collect();
    Err(Error::machine(
        format!("could not remove {}", failed.join(", ")),
        "run as the user who made it, or as root",
    ))
}

//! How late the load generator is by itself: idle, and beside busy neighbours.
//!
//! A server without work answers, so that what is late is the generator. Target: p50 under 60 us on
//! a quiet machine at 1,000 requests a second.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::neighbour::Neighbour;

/// p50 of lateness on a quiet machine, us.
const TARGET_US: f64 = 60.0;

/// Repetitions of each setting: their range is the noise.
const REPEATS: usize = 3;

/// CPU time that others used during a quiet repetition, in cores, above which no verdict is given.
const QUIET_CORES: f64 = 0.33;

struct Setting {
    what: &'static str,
    arrivals: &'static str,
    connections: &'static str,
    priority: bool,
    busy: bool,
}

const SETTINGS: &[Setting] = &[
    Setting {
        what: "10/s poisson, idle",
        arrivals: "poisson:10/s",
        connections: "new",
        priority: true,
        busy: false,
    },
    Setting {
        what: "1000/s, idle",
        arrivals: "uniform:1000/s",
        connections: "pool:4",
        priority: true,
        busy: false,
    },
    Setting {
        what: "1000/s, idle, no real-time",
        arrivals: "uniform:1000/s",
        connections: "pool:4",
        priority: false,
        busy: false,
    },
    Setting {
        what: "10/s poisson, busy",
        arrivals: "poisson:10/s",
        connections: "new",
        priority: true,
        busy: true,
    },
    Setting {
        what: "1000/s, busy",
        arrivals: "uniform:1000/s",
        connections: "pool:4",
        priority: true,
        busy: true,
    },
    Setting {
        what: "1000/s, busy, no real-time",
        arrivals: "uniform:1000/s",
        connections: "pool:4",
        priority: false,
        busy: true,
    },
];

/// Measures and prints a table; `Ok(false)` if the target was missed on a quiet machine.
pub fn run(binary: &Path) -> Result<bool, String> {
    println!("lateness of the generator, us: median of {REPEATS} runs of 5 s (lowest to highest)");
    println!("  {:<28} {:>20} {:>22} {:>12}", "setting", "p50", "p99", "max");
    let mut met = true;
    for setting in SETTINGS {
        let neighbour = if setting.busy { Some(Neighbour::start()?) } else { None };
        let before = busy_ticks()?;
        let mut runs = Vec::new();
        for _ in 0..REPEATS {
            runs.push(measure(binary, setting)?);
        }
        let other = (busy_ticks()? - before) / (REPEATS as f64 * 5.0);
        drop(neighbour);
        let column = |of: fn(&[f64; 3]) -> f64| {
            let mut values: Vec<f64> = runs.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let (p50, p99, max) = (column(|run| run[0]), column(|run| run[1]), column(|run| run[2]));
        let show = |v: &[f64]| format!("{:.0} ({:.0}-{:.0})", v[REPEATS / 2], v[0], v[REPEATS - 1]);
        println!(
            "  {:<28} {:>20} {:>22} {:>12.0}",
            setting.what,
            show(&p50),
            show(&p99),
            max[REPEATS - 1]
        );
        if setting.what == "1000/s, idle" {
            met = verdict(p50[REPEATS / 2], other);
        }
    }
    Ok(met)
}

fn verdict(p50_us: f64, busy_cores: f64) -> bool {
    // The generator and the server are part of what is busy: about a tenth of a core.
    if busy_cores > QUIET_CORES + 0.3 {
        println!("  no verdict: {busy_cores:.2} cores were busy, this machine is not quiet");
        return true;
    }
    let met = p50_us < TARGET_US;
    let word = if met { "met" } else { "MISSED" };
    println!("  target {word}: p50 {p50_us:.0} us, to be under {TARGET_US:.0} us");
    met
}

/// p50, p99 and max of lateness, us.
fn measure(binary: &Path, setting: &Setting) -> Result<[f64; 3], String> {
    let (mut server, url) = serve(binary)?;
    let mut command = Command::new(binary);
    command.args(["lab", "load", &url, "--arrivals", setting.arrivals, "--for", "5s"]);
    command.args(["--connections", setting.connections, "--format", "json"]);
    if !setting.priority {
        command.arg("--no-real-time");
    }
    let output = command.stdin(Stdio::null()).output();
    let _ = server.kill();
    let _ = server.wait();
    let output = output.map_err(|error| format!("cannot start the load: {error}"))?;
    let document: Value = serde_json::from_slice(&output.stdout)
        .map_err(|_| String::from_utf8_lossy(&output.stderr).into_owned())?;
    if setting.priority && document["real_time"] != true {
        return Err(format!("no real-time priority: {}", document["real_time_refused"]));
    }
    let lateness = &document["requests"]["lateness"];
    let us = |name: &str| lateness[name].as_f64().map(|ms| ms * 1e3);
    match (us("p50_ms"), us("p99_ms"), us("max_ms")) {
        (Some(p50), Some(p99), Some(max)) => Ok([p50, p99, max]),
        _ => Err(format!("no lateness in {document}")),
    }
}

fn serve(binary: &Path) -> Result<(Child, String), String> {
    let fail = |error: &dyn std::fmt::Display| format!("cannot start the server: {error}");
    let mut server = Command::new(binary)
        .args(["lab", "serve", "--listen", "127.0.0.1:0", "--workers", "8", "--cost", "1us"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| fail(&error))?;
    let mut line = String::new();
    if let Some(out) = server.stdout.take() {
        BufReader::new(out).read_line(&mut line).map_err(|error| fail(&error))?;
    }
    let ready: Value = serde_json::from_str(&line).map_err(|error| fail(&error))?;
    Ok((server, format!("http://{}/", ready["listening"].as_str().unwrap_or_default())))
}

/// Seconds of CPU that this machine has used so far.
fn busy_ticks() -> Result<f64, String> {
    let text = std::fs::read_to_string("/proc/stat").map_err(|error| error.to_string())?;
    let line = text.lines().next().unwrap_or_default();
    let ticks: Vec<f64> =
        line.split_ascii_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    let of = |index: usize| ticks.get(index).copied().unwrap_or(0.0);
    // user, nice, system, irq, softirq; in hundredths of a second.
    Ok((of(0) + of(1) + of(2) + of(5) + of(6)) / 100.0)
}

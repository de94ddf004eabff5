//! Everything that continuous integration runs, in the order of what fails fastest.
//!
//! Every step is named and timed. The first step that fails ends the run, and the last line says
//! which it was and how to run it alone.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::{generate, tidy};

/// Where tests write one line each for what they had to skip; `testkit::gate` reads it.
const SKIPPED_FILE: &str = "UNTHROTTLE_SKIPPED_FILE";

/// How a step is done.
enum Work {
    /// A cargo command with its arguments.
    Cargo(&'static [&'static str]),
    /// A function of this program; the text is the command that runs it alone.
    Own(fn(&Path) -> bool, &'static str),
}

const STEPS: &[(&str, Work)] = &[
    ("format", Work::Cargo(&["fmt", "--all", "--check"])),
    ("tidy", Work::Own(tidy::run, "cargo xtask tidy")),
    (
        "clippy",
        Work::Cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--release",
            "--",
            "-D",
            "warnings",
        ]),
    ),
    ("generated pages", Work::Own(check_generated, "cargo xtask gen --check")),
    ("tests", Work::Cargo(&["test", "--workspace", "--release", "--no-fail-fast"])),
    ("documentation", Work::Cargo(&["doc", "--workspace", "--no-deps", "--release"])),
];

fn check_generated(root: &Path) -> bool {
    generate::run(root, generate::Mode::Check)
}

/// Runs all steps below `root`; `false` at the first that fails.
pub fn run(root: &Path) -> bool {
    let skipped = skipped_file(root);
    // What an earlier run skipped does not count; that the file is not there is the usual case.
    let _ = std::fs::remove_file(&skipped);
    let started = Instant::now();
    let mut times = Vec::new();
    for (name, work) in STEPS {
        println!("==> {name}");
        let step = Instant::now();
        let (good, command) = match work {
            Work::Cargo(arguments) => {
                (cargo(root, arguments, &skipped), format!("cargo {}", arguments.join(" ")))
            }
            Work::Own(function, command) => (function(root), (*command).to_owned()),
        };
        times.push(format!("  {name:<16} {}", seconds(step.elapsed())));
        if !good {
            println!("{}", times.join("\n"));
            println!("ci: failed at `{name}`; to run it alone: {command}");
            return false;
        }
    }
    println!("{}", times.join("\n"));
    println!("ci: all {} steps passed in {}", STEPS.len(), seconds(started.elapsed()));
    report_skipped(&skipped);
    true
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}

fn cargo(root: &Path, arguments: &[&str], skipped: &Path) -> bool {
    // The cargo that runs this task is the one to ask, whatever PATH says.
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).current_dir(root).env(SKIPPED_FILE, skipped);
    if arguments.first() == Some(&"doc") {
        command.env("RUSTDOCFLAGS", "-D warnings");
    }
    match command.status() {
        Ok(status) => status.success(),
        Err(error) => {
            eprintln!("ci: cannot start cargo: {error}");
            false
        }
    }
}

fn skipped_file(root: &Path) -> PathBuf {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| "target".into(), PathBuf::from);
    root.join(target).join("skipped.txt")
}

fn report_skipped(file: &Path) {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    match text.lines().count() {
        0 => println!("ci: no test was skipped"),
        count => println!("ci: {count} skipped:\n{}", text.trim_end()),
    }
}

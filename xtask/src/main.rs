//! Build tasks: `cargo xtask ci | tidy | gen | bench`.
//!
//! Run from anywhere inside the checkout. Exit 0: fine; 1: a check failed, and the output says
//! which; 2: used wrongly.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a build task talks to the person who typed it"
)]

mod bench;
mod ci;
mod generate;
#[cfg(test)]
mod scripts;
mod tidy;

use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask ci|tidy|gen [--check]|bench [ARGS]

  ci     everything CI runs: format, lints, tidy, tests, documentation
  tidy   the house rules that no other tool checks
  gen    writes generated pages; with `--check` only says which are out of date
  bench  the published bars, measured on this machine";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let root = root();
    let good = match arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        Some(("ci", [])) => ci::run(&root),
        Some(("tidy", [])) => tidy::run(&root),
        Some(("gen", [])) => generate::run(&root, generate::Mode::Write),
        Some(("gen", [flag])) if flag == "--check" => generate::run(&root, generate::Mode::Check),
        Some(("bench", rest)) => bench::run(&root, rest),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The top of the checkout: the parent of this package, as cargo knew it at build time.
///
/// A reused target directory could hold another checkout's path, so the running cargo's word goes
/// first.
fn root() -> PathBuf {
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().map_or(manifest.clone(), PathBuf::from)
}

//! What can be typed.

mod lab;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use unthrottle_model::units::{parse_cores, parse_span_ns};
use unthrottle_source::Root;

pub use lab::{BurnKind, Lab, LabClean, LabCommand, LabLoad, LabServe};

/// Finds out whether a CPU quota stops a service, and what that does to it.
#[derive(Debug, Parser)]
#[command(name = "unthrottle", version, propagate_version = true, after_help = EXAMPLES)]
pub struct Args {
    /// Read DIR/proc and DIR/sys instead of the machine's own.
    #[arg(long, global = true, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

const EXAMPLES: &str = "Examples:
  unthrottle doctor                         what this host lets us see
  unthrottle top --once                     every limited group, worst first
  unthrottle explain docker:4f2a91          watch a container for 30 s, then say what its limit did
  unthrottle explain pid:1234 --for 60s     the group of a process
  unthrottle explain self --format json
  unthrottle demo                           see it happen: a service in a group with half a core

Targets: docker:ID podman:ID cri:ID unit:NAME pid:N cgroup:PATH self, or a word tried as each.
Exit codes: 0 fine, 1 over the threshold of --fail-on, 2 wrong usage, 3 not measured, 4 defect.";

impl Args {
    /// Where /proc and /sys are.
    #[must_use]
    pub fn root(&self) -> Root {
        self.root.as_deref().map_or_else(Root::machine, Root::at)
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say what this host lets us see, what is missing, what that costs and how to get it.
    Doctor(Doctor),
    /// List every limited group of this host, worst first.
    Top(Top),
    /// Watch a target, then say whether its CPU limit stops it and what that does.
    Explain(Explain),
    /// Experiments on the real kernel.
    Lab(Lab),
    /// Run a service in a real quota group, load it, explain it, and compare with twice the limit.
    Demo(Demo),
}

/// How to write a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

fn span(text: &str) -> Result<i64, String> {
    parse_span_ns(text).map_err(|error| error.to_string())
}

fn cores(text: &str) -> Result<f64, String> {
    parse_cores(text).map_err(|error| error.to_string())
}

/// `doctor`.
#[derive(Debug, ClapArgs)]
pub struct Doctor {
    /// How to write the result.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// `top`.
#[derive(Debug, ClapArgs)]
pub struct Top {
    /// Print one table and end; without it, a new table after every interval until Ctrl-C.
    #[arg(long)]
    pub once: bool,
    /// How long to watch for a table.
    #[arg(long = "for", value_name = "SPAN", value_parser = span, default_value = "2s")]
    pub for_ns: i64,
    /// How to write the result.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// `explain`.
#[derive(Debug, ClapArgs)]
pub struct Explain {
    /// docker:ID, podman:ID, cri:ID, unit:NAME, pid:N, cgroup:PATH, self, or a word tried as each.
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// How long to watch. Ctrl-C ends it early and explains what was seen.
    #[arg(long = "for", value_name = "SPAN", value_parser = span, default_value = "30s")]
    pub for_ns: i64,
    /// Requests of the same time, as `lab load --requests FILE` writes them.
    #[arg(long, value_name = "FILE")]
    pub requests: Option<PathBuf>,
    /// Exit with 1 if so: `throttled`, `throttle-rate=5%` or `p99=50ms`.
    #[arg(long, value_name = "CONDITION")]
    pub fail_on: Option<crate::commands::FailOn>,
    /// How to write the result.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// `demo`.
#[derive(Debug, ClapArgs)]
pub struct Demo {
    /// How long each of the two runs takes.
    #[arg(long = "for", value_name = "SPAN", value_parser = span, default_value = "30s")]
    pub for_ns: i64,
    /// Seed of the arrivals; the same seed gives the same arrivals.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How to write the result.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

//! The commands of the lab.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use unthrottle_lab::load::Connections;
use unthrottle_model::Quota;
use unthrottle_model::arrivals::Arrivals;

use super::{Format, cores, span};
use crate::error::Error;

/// `lab`.
#[derive(Debug, ClapArgs)]
pub struct Lab {
    /// Which.
    #[command(subcommand)]
    pub command: LabCommand,
}

/// The commands of the lab.
#[derive(Debug, Subcommand)]
pub enum LabCommand {
    /// Serve a known amount of CPU work per request, with no queue of its own.
    Serve(LabServe),
    /// Send requests when a schedule says, whatever the server does (any http:// URL).
    Load(LabLoad),
    /// Remove groups that a killed run left behind, with what still runs in them.
    Clean(LabClean),
}

/// How the server burns CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BurnKind {
    /// Poll the thread's CPU clock: exact time.
    Clock,
    /// Hash in user mode: fixed work, which overruns a quota by up to a tick, as real services do.
    Hash,
}

/// `lab serve`.
#[derive(Debug, ClapArgs)]
pub struct LabServe {
    /// Address to listen on; port 0 takes a free one. Printed as JSON once it listens.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:18080")]
    pub listen: SocketAddr,
    /// Threads, each with one connection at a time.
    #[arg(long, default_value_t = 4)]
    pub workers: usize,
    /// CPU time burned per request.
    #[arg(long, value_name = "SPAN", value_parser = span, default_value = "20ms")]
    pub cost: i64,
    /// How it is burned.
    #[arg(long, value_enum, default_value_t = BurnKind::Clock)]
    pub burn: BurnKind,
    /// With `--burn hash`: hashes per request instead of a calibration, for the same work again.
    #[arg(long)]
    pub hashes: Option<u64>,
    /// Write each request's times and CPU time to this file.
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Length of the kernel's accept queue.
    #[arg(long, default_value_t = 1024)]
    pub backlog: i32,
    /// Serve in a group of its own with this limit, removed at the end.
    #[arg(long, value_name = "CORES", value_parser = cores)]
    pub limit: Option<f64>,
    /// Period of that limit.
    #[arg(long, value_name = "SPAN", value_parser = span, default_value = "100ms", requires = "limit")]
    pub period: i64,
    /// CPU time that may be saved up beyond that limit.
    #[arg(long, value_name = "SPAN", value_parser = span, requires = "limit")]
    pub burst: Option<i64>,
}

impl LabServe {
    /// Whether it is to run in a group of its own.
    #[must_use]
    pub fn limited(&self) -> bool {
        self.limit.is_some()
    }

    /// The limit, in the kernel's units.
    #[must_use]
    pub fn quota(&self) -> Option<Quota> {
        let us = |ns: i64| ns.unsigned_abs() / 1_000;
        Some(Quota {
            quota_us: (self.limit? * us(self.period) as f64).round() as u64,
            period_us: us(self.period),
            burst_us: self.burst.map_or(0, us),
        })
    }

    /// The same without its group: what runs inside it.
    #[must_use]
    pub fn without_limit(&self) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec![
            "--listen".into(),
            self.listen.to_string().into(),
            "--workers".into(),
            self.workers.to_string().into(),
            "--cost".into(),
            format!("{}ns", self.cost).into(),
            "--backlog".into(),
            self.backlog.to_string().into(),
        ];
        if self.burn == BurnKind::Hash {
            args.extend(["--burn".into(), "hash".into()]);
        }
        if let Some(hashes) = self.hashes {
            args.extend(["--hashes".into(), hashes.to_string().into()]);
        }
        if let Some(log) = &self.log {
            args.extend(["--log".into(), log.into()]);
        }
        args
    }
}

/// `lab load`.
#[derive(Debug, ClapArgs)]
pub struct LabLoad {
    /// Where to, such as http://127.0.0.1:18080/.
    #[arg(value_name = "URL")]
    pub url: String,
    /// When to send: `poisson:10/s`, `uniform:20/s`, `batch:8@400ms` or `replay:FILE[@2x]`.
    #[arg(long, value_name = "SCHEDULE", default_value = "poisson:10/s")]
    pub arrivals: Arrivals,
    /// For how long.
    #[arg(long = "for", value_name = "SPAN", value_parser = span, default_value = "30s")]
    pub for_ns: i64,
    /// Seed of `poisson`; the same seed gives the same arrivals.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// `new`: a connection for each request; `pool:N`: N that are reused.
    #[arg(long, value_name = "HOW", default_value = "new")]
    pub connections: Connections,
    /// Sends beyond this many requests in flight are skipped, and counted.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    pub max_in_flight: usize,
    /// From the send to the last byte of the response.
    #[arg(long, value_name = "SPAN", value_parser = span, default_value = "30s")]
    pub timeout: i64,
    /// HTTP method.
    #[arg(long, default_value = "GET")]
    pub method: String,
    /// A header, `Name: value`; may be repeated.
    #[arg(long = "header", short = 'H', value_name = "HEADER")]
    pub header: Vec<String>,
    /// A body.
    #[arg(long, value_name = "TEXT")]
    pub body: Option<String>,
    /// Write a row for each scheduled send to this file (CSV), while it runs.
    #[arg(long, value_name = "FILE")]
    pub requests: Option<PathBuf>,
    /// Write latency and lateness as an HdrHistogram V2 log.
    #[arg(long, value_name = "FILE")]
    pub hdr: Option<PathBuf>,
    /// Do not ask for real-time priority.
    #[arg(long)]
    pub no_real_time: bool,
    /// How to write the result.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

impl LabLoad {
    /// The headers, split.
    ///
    /// # Errors
    /// If one has no colon.
    pub fn headers(&self) -> Result<Vec<(String, String)>, Error> {
        let split = |text: &String| {
            let (name, value) = text.split_once(':').ok_or_else(|| {
                Error::user(
                    format!("`--header {text}` has no colon"),
                    "write it as `--header 'Name: value'`",
                )
            })?;
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        };
        self.header.iter().map(split).collect()
    }
}

/// `lab clean`.
#[derive(Debug, ClapArgs)]
pub struct LabClean {}

//! `lab load`, version 1.

use schemars::JsonSchema;
use serde::Serialize;
use unthrottle_analysis::latency::Requests as RequestFacts;

use super::requests::{Requests, requests};

/// What the load generator says of itself.
#[derive(Debug, Clone)]
pub struct LoadFacts {
    /// Where to.
    pub url: String,
    /// Grammar of the schedule.
    pub arrivals: String,
    /// Its seed.
    pub seed: u64,
    /// Its length, ns.
    pub for_ns: i64,
    /// Its begin, ns of `CLOCK_MONOTONIC`.
    pub start_ns: i64,
    /// `new` or `pool:N`.
    pub connections: String,
    /// Opened because all of the pool were busy.
    pub extra_connections: u64,
    /// Opened in place of those that the server had closed.
    pub reopened_connections: u64,
    /// Sent again because the server had closed the idle connection.
    pub retried: u64,
    /// Never sent, as the run was stopped before.
    pub unsent: u64,
    /// Whether it had real-time priority; if not, why.
    pub real_time: Result<(), String>,
    /// CPU time of the pacing thread, ns.
    pub generator_cpu_ns: i64,
    /// What went wrong, and how often.
    pub problems: Vec<(String, u64)>,
}

/// A load and its latencies.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Load {
    /// Always `unthrottle.load/v1`.
    pub schema: String,
    /// Where to.
    pub url: String,
    /// Grammar of the schedule.
    pub arrivals: String,
    /// Its seed.
    pub seed: u64,
    /// Its length, s.
    pub seconds: f64,
    /// `new` or `pool:N`.
    pub connections: String,
    /// Opened because all of the pool were busy.
    pub extra_connections_count: u64,
    /// Opened in place of those that the server had closed.
    pub reopened_connections_count: u64,
    /// Sent again because the server had closed the idle connection.
    pub retried_count: u64,
    /// Never sent, as the run was stopped before.
    pub unsent_count: u64,
    /// Whether the generator had real-time priority.
    pub real_time: bool,
    /// Why not.
    pub real_time_refused: Option<String>,
    /// CPU time of the pacing thread, ms.
    pub generator_cpu_ms: f64,
    /// Latencies; null if nothing was scheduled.
    pub requests: Option<Requests>,
    /// What went wrong.
    pub problems: Vec<Problem>,
}

/// Something that went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Problem {
    /// In words.
    pub what: String,
    /// How often.
    pub count: u64,
}

/// Builds the document.
#[must_use]
pub fn load(facts: &LoadFacts, rows: Option<&RequestFacts>) -> Load {
    Load {
        schema: "unthrottle.load/v1".to_owned(),
        url: facts.url.clone(),
        arrivals: facts.arrivals.clone(),
        seed: facts.seed,
        seconds: facts.for_ns as f64 / 1e9,
        connections: facts.connections.clone(),
        extra_connections_count: facts.extra_connections,
        reopened_connections_count: facts.reopened_connections,
        retried_count: facts.retried,
        unsent_count: facts.unsent,
        real_time: facts.real_time.is_ok(),
        real_time_refused: facts.real_time.clone().err(),
        generator_cpu_ms: facts.generator_cpu_ns as f64 / 1e6,
        requests: rows.map(|rows| requests(rows, facts.start_ns)),
        problems: facts
            .problems
            .iter()
            .map(|(what, count)| Problem { what: what.clone(), count: *count })
            .collect(),
    }
}

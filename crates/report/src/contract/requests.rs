//! Requests, the part that `explain` and `lab load` share.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use unthrottle_analysis::latency::Requests as RequestFacts;
use unthrottle_analysis::stats::Summary;

use super::ms;

/// Requests as the load generator saw them.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Requests {
    /// Sends that the schedule asked for in the window.
    pub count: usize,
    /// Complete responses.
    pub completed_count: usize,
    /// The others, by outcome.
    pub failed: BTreeMap<String, usize>,
    /// Complete responses with status 400 or above.
    pub error_status_count: usize,
    /// Requests that met a stop.
    pub stopped_count: Option<usize>,
    /// Median from the intended send time, ms.
    pub p50_ms: Option<f64>,
    /// 99th percentile from the intended send time, nearest rank, ms.
    pub p99_ms: Option<f64>,
    /// Longest, ms.
    pub max_ms: Option<f64>,
    /// Whether p99 rests on fewer than ten values beyond it.
    pub p99_weak: bool,
    /// The same from the actual send.
    pub from_send: Percentiles,
    /// How late the generator was.
    pub lateness: Percentiles,
    /// Whether the generator kept its schedule.
    pub kept_schedule: bool,
    /// p99 with each request's own stops taken out, ms.
    pub p99_without_own_stops_ms: Option<f64>,
    /// p99 without the limit, ms.
    pub p99_without_limit_ms: Option<f64>,
    /// The slowest.
    pub slowest: Vec<Slow>,
}

/// Percentiles of one kind of time.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Percentiles {
    /// Median, ms.
    pub p50_ms: Option<f64>,
    /// 99th percentile, ms.
    pub p99_ms: Option<f64>,
    /// Longest, ms.
    pub max_ms: Option<f64>,
}

/// One slow request.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Slow {
    /// Intended send time, s after the begin of the window.
    pub at_s: f64,
    /// From the intended send time, ms.
    pub latency_ms: f64,
    /// The generator's port.
    pub local_port: Option<u16>,
    /// How many stops it met.
    pub stops_met: Option<usize>,
    /// Time in each stage.
    pub stages: Option<BTreeMap<String, f64>>,
}

/// Builds the part. Times of single requests count from `start_ns`.
#[must_use]
pub fn requests(facts: &RequestFacts, start_ns: i64) -> Requests {
    let of = |summary: Option<Summary>| Percentiles {
        p50_ms: summary.map(|s| ms(s.p50_ns)),
        p99_ms: summary.map(|s| ms(s.p99_ns)),
        max_ms: summary.map(|s| ms(s.max_ns)),
    };
    let intended = of(facts.from_intended);
    Requests {
        count: facts.scheduled,
        completed_count: facts.completed,
        failed: facts.failed.iter().map(|(o, count)| (o.word().to_owned(), *count)).collect(),
        error_status_count: facts.error_status,
        stopped_count: None,
        p50_ms: intended.p50_ms,
        p99_ms: intended.p99_ms,
        max_ms: intended.max_ms,
        p99_weak: facts.from_intended.is_none_or(|summary| summary.p99_weak()),
        from_send: of(facts.from_sent),
        lateness: of(facts.lateness),
        kept_schedule: facts.kept_schedule(),
        p99_without_own_stops_ms: None,
        p99_without_limit_ms: None,
        slowest: facts
            .slowest
            .iter()
            .map(|row| Slow {
                at_s: (row.intended_ns - start_ns) as f64 / 1e9,
                latency_ms: ms(row.latency_intended_ns().unwrap_or(0)),
                local_port: row.local_port,
                stops_met: None,
                stages: None,
            })
            .collect(),
    }
}

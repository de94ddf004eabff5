//! `demo`, version 1: the same arrivals at two limits, beside published figures.

use schemars::JsonSchema;
use serde::Serialize;
use unthrottle_analysis::compare::PUBLISHED;

use super::explain::Explain;

/// What was run.
#[derive(Debug, Clone)]
pub struct DemoFacts {
    /// Grammar of the schedule.
    pub arrivals: String,
    /// Its seed.
    pub seed: u64,
    /// Threads of the service.
    pub workers: usize,
    /// CPU time per request, ms.
    pub cost_ms: f64,
    /// Length of each run, s.
    pub seconds: f64,
    /// What was seen, in order of the limits.
    pub runs: Vec<Explain>,
    /// Groups that were removed.
    pub removed: Vec<String>,
}

/// The demonstration.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Demo {
    /// Always `unthrottle.demo/v1`.
    pub schema: String,
    /// Grammar of the schedule.
    pub arrivals: String,
    /// Its seed; all runs have the same arrivals.
    pub seed: u64,
    /// Threads of the service.
    pub workers: usize,
    /// CPU time per request, ms.
    pub cost_ms: f64,
    /// Length of each run, s.
    pub seconds: f64,
    /// What was seen.
    pub runs: Vec<Explain>,
    /// Published figures of the same experiment elsewhere: 60 s, 4 CPUs, one run each.
    pub published: Vec<Published>,
    /// Groups that were removed at the end.
    pub removed: Vec<String>,
}

/// One published row.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Published {
    /// CPU limit, cores.
    pub limit_cores: f64,
    /// Use of the limit.
    pub usage_ratio: f64,
    /// nr_throttled / nr_periods.
    pub throttle_ratio: f64,
    /// Median latency, ms.
    pub p50_ms: f64,
    /// 99th percentile, ms.
    pub p99_ms: f64,
}

/// Builds the document.
#[must_use]
pub fn demo(facts: DemoFacts) -> Demo {
    Demo {
        schema: "unthrottle.demo/v1".to_owned(),
        arrivals: facts.arrivals,
        seed: facts.seed,
        workers: facts.workers,
        cost_ms: facts.cost_ms,
        seconds: facts.seconds,
        runs: facts.runs,
        published: PUBLISHED
            .iter()
            .map(|row| Published {
                limit_cores: row.limit_cores,
                usage_ratio: row.usage_ratio,
                throttle_ratio: row.throttle_ratio,
                p50_ms: row.p50_ms,
                p99_ms: row.p99_ms,
            })
            .collect(),
        removed: facts.removed,
    }
}

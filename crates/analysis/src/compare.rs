//! Published figures of the base experiment, to be shown beside what was measured here.

/// One published row. Missing figures were not published.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Published {
    /// CPU limit, cores.
    pub limit_cores: f64,
    /// Use of the limit.
    pub usage_ratio: f64,
    /// nr_throttled / nr_periods.
    pub throttle_ratio: f64,
    /// Median latency, ms.
    pub p50_ms: f64,
    /// 99th percentile of latency, ms.
    pub p99_ms: f64,
}

/// An HTTP server with 20 ms of CPU per request and 4 workers, 10 Poisson arrivals a second for
/// 60 s, in a container limited by `--cpus`, on 4-CPU hosts: one run each.
pub const PUBLISHED: [Published; 2] = [
    Published {
        limit_cores: 0.5,
        usage_ratio: 0.435,
        throttle_ratio: 0.122,
        p50_ms: 20.6,
        p99_ms: 138.6,
    },
    Published {
        limit_cores: 1.0,
        usage_ratio: 0.211,
        throttle_ratio: 0.0038,
        p50_ms: 20.4,
        p99_ms: 33.2,
    },
];

/// The published row for a limit, if there is one.
#[must_use]
pub fn published(limit_cores: f64) -> Option<&'static Published> {
    PUBLISHED.iter().find(|row| (row.limit_cores - limit_cores).abs() < 1e-9)
}

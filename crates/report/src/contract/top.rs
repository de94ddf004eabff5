//! `top`, version 1.

use schemars::JsonSchema;
use serde::Serialize;
use unthrottle_analysis::model::recording::HostFacts;
use unthrottle_analysis::rank::Ranked;

use super::build::limit;
use super::explain::{Counters, Limit};

/// Every limited group, worst first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Top {
    /// Always `unthrottle.top/v1`.
    pub schema: String,
    /// `uname -r`.
    pub kernel: String,
    /// CPUs online.
    pub cpus_online: u32,
    /// Length of the window, s.
    pub seconds: f64,
    /// Groups without a quota of their own.
    pub unlimited_count: usize,
    /// Groups whose limit could not be read: not in this list, and not known to be unlimited.
    pub unreadable_count: usize,
    /// The limited ones.
    pub groups: Vec<TopGroup>,
}

/// One limited group.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TopGroup {
    /// What it is called, if its path says what it is; else its path.
    pub name: String,
    /// What runs it, if its path says.
    pub runtime: Option<String>,
    /// Its path.
    pub cgroup: String,
    /// Its limit, cores.
    pub limit_cores: Option<f64>,
    /// Upper bound of the wall-clock time a minute with some thread stopped, ms (bounded).
    pub lost_ms_per_minute_at_most: Option<f64>,
    /// Increases over the window; `usage_ratio` is of its own limit.
    pub counters: Option<Counters>,
    /// Why the ratio is null, if it is: `no_active_period` or `not_measured`.
    pub no_ratio: Option<String>,
}

/// Builds the document. `seconds` is the time watched, `name` says what a path is, where it can.
#[must_use]
pub fn top(
    ranked: &[Ranked],
    (unlimited, unreadable): (usize, usize),
    seconds: f64,
    host: &HostFacts,
    name: impl Fn(&str) -> Option<(String, String)>,
) -> Top {
    Top {
        schema: "unthrottle.top/v1".to_owned(),
        kernel: host.kernel.clone(),
        cpus_online: host.cpus_online,
        seconds,
        unlimited_count: unlimited,
        unreadable_count: unreadable,
        groups: ranked.iter().map(|each| group(each, &name)).collect(),
    }
}

fn group(ranked: &Ranked, name: &impl Fn(&str) -> Option<(String, String)>) -> TopGroup {
    let Limit { cgroup, limit_cores, counters, .. } = limit(&ranked.level);
    let known = name(&cgroup);
    let no_ratio = match &counters {
        Some(counters) if counters.throttle_ratio.is_some() => None,
        Some(counters) if counters.nr_periods == Some(0) => Some("no_active_period"),
        _ => Some("not_measured"),
    };
    TopGroup {
        name: known.as_ref().map_or_else(|| cgroup.clone(), |(name, _)| name.clone()),
        runtime: known.map(|(_, runtime)| runtime),
        cgroup,
        limit_cores,
        lost_ms_per_minute_at_most: ranked.stopped_ms_per_minute_at_most,
        counters,
        no_ratio: no_ratio.map(str::to_owned),
    }
}

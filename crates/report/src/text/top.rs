//! `top` as text.

use super::parts::{cores, dash, percent, shorten, table};
use crate::contract::{Top, TopGroup};

/// Renders the document.
#[must_use]
pub fn top(t: &Top) -> String {
    let mut text = format!(
        "{} groups with a CPU limit, {} without, watched for {:.1} s; {} CPUs\n\n",
        t.groups.len(),
        t.unlimited_count,
        t.seconds,
        t.cpus_online
    );
    if t.unreadable_count > 0 {
        text += &format!(
            "{} groups could not be read and are missing here: run as root, raise `ulimit -n`\n\n",
            t.unreadable_count
        );
    }
    if t.groups.is_empty() && t.unreadable_count == 0 {
        return text + "no group has a CPU limit: nothing here is throttled by a quota\n";
    }
    let rows: Vec<Vec<String>> = t.groups.iter().map(row).collect();
    text += &table(
        &["group", "limit", "use", "throttled", "of active", "of all", "stopped/min"],
        &rows,
    );
    text + "\n  stopped/min: at most this much wall-clock time a minute with some thread stopped\n"
}

fn row(group: &TopGroup) -> Vec<String> {
    let counters = group.counters.as_ref();
    let throttled = counters.and_then(|c| Some(format!("{}/{}", c.nr_throttled?, c.nr_periods?)));
    let active = match (counters.and_then(|c| c.throttle_ratio), group.no_ratio.as_deref()) {
        (Some(ratio), _) => percent(ratio),
        (None, Some("no_active_period")) => "idle".to_owned(),
        _ => "?".to_owned(),
    };
    vec![
        shorten(&group.name, 40),
        group
            .limit_cores
            .map_or_else(dash, |limit| cores(limit).replace(" cores", "").replace(" core", "")),
        counters.and_then(|c| c.usage_ratio).map_or_else(dash, percent),
        throttled.unwrap_or_else(dash),
        active,
        counters.and_then(|c| c.throttle_wall_ratio).map_or_else(dash, percent),
        group.lost_ms_per_minute_at_most.map_or_else(dash, |ms| format!("<= {ms:.0} ms")),
    ]
}

//! `lab load` as text.

use super::parts::{ms, paragraph};
use crate::contract::Load;
use crate::contract::requests::Requests;

/// Renders the document.
#[must_use]
pub fn load(l: &Load) -> String {
    let mut text = paragraph(
        "",
        &format!(
            "{} at {} for {} s, seed {}, connections {}",
            l.url, l.arrivals, l.seconds, l.seed, l.connections
        ),
    );
    text.push('\n');
    match &l.requests {
        Some(requests) => text += &self::requests(requests),
        None => text += "nothing was due: no request was sent\n",
    }
    if l.unsent_count > 0 {
        text += &format!("  unsent     {} not due yet when the run was stopped\n", l.unsent_count);
    }
    if l.extra_connections_count + l.reopened_connections_count + l.retried_count > 0 {
        text += &paragraph(
            "  pool       ",
            &format!(
                "{} connections opened because all were busy, {} reopened, {} requests sent again \
                 because the server had closed an idle connection",
                l.extra_connections_count, l.reopened_connections_count, l.retried_count
            ),
        );
    }
    if let Some(why) = &l.real_time_refused {
        text += &paragraph("  generator  ", &format!("no real-time priority: {why}"));
    }
    for problem in &l.problems {
        text += &paragraph("  problem    ", &format!("{} x {}", problem.count, problem.what));
    }
    text
}

/// Lines about requests and their latencies.
pub(super) fn requests(r: &Requests) -> String {
    let weak = if r.p99_weak { " (weak: fewer than 10 beyond it)" } else { "" };
    let failed: Vec<String> =
        r.failed.iter().map(|(outcome, count)| format!("{count} {outcome}")).collect();
    let failed =
        if failed.is_empty() { String::new() } else { format!(" ({})", failed.join(", ")) };
    let mut text = paragraph(
        "  requests   ",
        &format!(
            "{} scheduled, {} complete{failed}, {} with an error status",
            r.count, r.completed_count, r.error_status_count
        ),
    );
    text += &paragraph(
        "  latency    ",
        &format!(
            "from the intended send time: p50 {}, p99 {}{weak}, max {}",
            ms(r.p50_ms),
            ms(r.p99_ms),
            ms(r.max_ms)
        ),
    );
    text += &paragraph(
        "             ",
        &format!(
            "from the actual send: p50 {}, p99 {}",
            ms(r.from_send.p50_ms),
            ms(r.from_send.p99_ms)
        ),
    );
    let late =
        |value: Option<f64>| value.map_or_else(super::parts::dash, |ms| format!("{ms:.3} ms"));
    let kept = if r.kept_schedule { "kept" } else { "NOT kept: do not trust the latencies" };
    text + &paragraph(
        "  lateness   ",
        &format!(
            "of the generator: p50 {}, p99 {}, max {}; schedule {kept}",
            late(r.lateness.p50_ms),
            late(r.lateness.p99_ms),
            late(r.lateness.max_ms)
        ),
    )
}

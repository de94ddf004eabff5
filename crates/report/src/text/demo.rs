//! The end of `demo` as text: both runs side by side, beside the published figures.

use super::parts::{dash, paragraph, percent, table};
use crate::contract::Demo;
use crate::contract::explain::Explain;

/// Renders the comparison.
#[must_use]
pub fn demo(d: &Demo) -> String {
    let mut text = "COMPARED, the same arrivals at both limits\n".to_owned();
    let mut rows: Vec<Vec<String>> = d.runs.iter().map(measured).collect();
    for row in &d.published {
        rows.push(vec![
            "published".to_owned(),
            format!("{}", row.limit_cores),
            percent(row.usage_ratio),
            percent(row.throttle_ratio),
            format!("{:.1} ms", row.p50_ms),
            format!("{:.1} ms", row.p99_ms),
        ]);
    }
    text += &table(&["", "limit", "use of limit", "throttled", "p50", "p99"], &rows);
    text += &paragraph(
        "  ",
        "Published: 60 s runs on hosts with 4 CPUs and other arrivals, one draw each; about 21.4 ms \
         of CPU per request there. One draw of Poisson arrivals moves these figures by a quarter.",
    );
    if let [half, whole] = d.runs.as_slice() {
        text.push('\n');
        text += &paragraph("  ", &conclusion(half, whole));
    }
    text.push('\n');
    let groups = d.removed.len();
    text += &paragraph(
        "",
        &format!(
            "Removed: {groups} group director{} and the service in them; nothing is left behind.",
            if groups == 1 { "y" } else { "ies" }
        ),
    );
    for path in &d.removed {
        text += &format!("  {path}\n");
    }
    text
}

fn measured(run: &Explain) -> Vec<String> {
    let own = run.counters.as_ref();
    let ms = |value: Option<f64>| value.map_or_else(dash, |ms| format!("{ms:.1} ms"));
    let requests = run.requests.as_ref();
    vec![
        "measured here".to_owned(),
        format!("{}", run.effective.limit_cores),
        own.and_then(|own| own.usage_ratio).map_or_else(dash, percent),
        own.and_then(|own| own.throttle_ratio).map_or_else(dash, percent),
        ms(requests.and_then(|requests| requests.p50_ms)),
        ms(requests.and_then(|requests| requests.p99_ms)),
    ]
}

fn conclusion(half: &Explain, whole: &Explain) -> String {
    let throttled = |run: &Explain| run.counters.as_ref().and_then(|own| own.nr_throttled);
    let p99 = |run: &Explain| run.requests.as_ref().and_then(|requests| requests.p99_ms);
    let usage = half.counters.as_ref().and_then(|own| own.usage_ratio);
    let complete = |run: &Explain| {
        run.requests.as_ref().is_some_and(|requests| requests.completed_count == requests.count)
    };
    if !complete(half) || !complete(whole) {
        return "The runs cannot be compared: not every request was answered.".to_owned();
    }
    match (throttled(half), throttled(whole), p99(half), p99(whole), usage) {
        (Some(0), ..) => "Nothing was throttled at the smaller limit: watch longer.".to_owned(),
        (Some(before), Some(after), Some(slow), Some(fast), Some(usage)) => format!(
            "Twice the limit: {before} throttled periods became {after}, and p99 went from {slow:.1} \
             to {fast:.1} ms, although only {} of the smaller limit was used on average.",
            percent(usage)
        ),
        _ => "The runs cannot be compared: see what was not measured.".to_owned(),
    }
}

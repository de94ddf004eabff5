//! `explain` as text: the verdict in one sentence, then harm, then evidence.

use super::parts::{cores, dash, many, ms, paragraph, percent, shorten, table};
use crate::contract::explain::{Counters, Explain, FindingWord, Limit, LimitKind, VerdictWord};

/// Renders the document.
#[must_use]
pub fn explain(e: &Explain) -> String {
    let word = match e.verdict {
        VerdictWord::Throttled => "THROTTLED",
        VerdictWord::NotThrottled => "NOT THROTTLED",
        VerdictWord::Contention => "CONTENTION",
        VerdictWord::NotMeasured => "NOT MEASURED",
    };
    let first = format!("{word}  ");
    let mut text = paragraph(&first, &e.summary);
    if let Some(beside) = beside(e) {
        text += &paragraph(&" ".repeat(first.len()), &beside);
    }
    text.push('\n');
    text += &head(e);
    text += &harm(e);
    text += &evidence(e);
    text += &checked(e);
    text += &next_steps(e);
    text += &losses(e);
    text
}

/// What makes the verdict matter, in one line: mean use beside it, and latencies if they are there.
fn beside(e: &Explain) -> Option<String> {
    let usage = e.counters.as_ref().and_then(|counters| counters.usage_ratio)?;
    let mut text = format!("mean use {} of the limit", percent(usage));
    if let Some(requests) = &e.requests {
        text += &format!(
            "; {} requests, p50 {}, p99 {}",
            requests.completed_count,
            ms(requests.p50_ms),
            ms(requests.p99_ms)
        );
    }
    (e.verdict == VerdictWord::Throttled).then_some(text)
}

fn head(e: &Explain) -> String {
    let runtime = e.target.runtime.as_ref().map_or_else(String::new, |r| format!(", {r}"));
    let hz = e.host.hz.map_or_else(|| "HZ unknown".to_owned(), |hz| format!("HZ {hz}"));
    let mut text =
        paragraph("  target  ", &format!("{} ({}{runtime})", e.target.cgroup, e.target.hierarchy));
    text += &paragraph(
        "  window  ",
        &format!("{:.1} s from {} to {}", e.window.seconds, e.window.start, e.window.end),
    );
    text += &paragraph(
        "  host    ",
        &format!("kernel {}, {hz}, {} CPUs", e.host.kernel, e.host.cpus_online),
    );
    text
}

fn harm(e: &Explain) -> String {
    let mut text = "\nHARM\n".to_owned();
    if let Some(requests) = &e.requests {
        text += &super::load::requests(requests);
    } else {
        text += "  requests   not measured\n";
    }
    let stopped = match e.harm.lost_ms_per_minute_at_most {
        Some(bound) => {
            format!(
                "at most {bound:.0} ms of wall-clock time a minute with some thread stopped (bounded)"
            )
        }
        None => "no limit with counters on the way up: nothing to add up".to_owned(),
    };
    text + &paragraph("  stopped    ", &stopped)
}

fn evidence(e: &Explain) -> String {
    let mut text = "\nEVIDENCE, increases over the window\n".to_owned();
    let rows: Vec<Vec<String>> = e.limits.iter().map(limit_row).collect();
    text += &table(
        &[
            "limits, root to target",
            "limit",
            "binds",
            "throttled",
            "of active",
            "of all",
            "stopped*",
            "cores",
        ],
        &rows,
    );
    text += "  throttled periods: of those with work (active), of all in the window\n";
    text += "  * summed over CPUs, so it may exceed wall time; never a duration\n";
    if let Some(counters) = &e.counters {
        let of_limit = match (counters.usage_cores, counters.usage_ratio) {
            (Some(used), Some(ratio)) => {
                let changed = e.findings.iter().any(|finding| finding.check == "limit_changed");
                let limit = if changed {
                    "what the changing limit allowed".to_owned()
                } else {
                    cores(e.effective.limit_cores)
                };
                format!("{} = {} of {limit}", cores(used), percent(ratio))
            }
            _ => "not measured".to_owned(),
        };
        text += &paragraph("  use      ", &format!("{of_limit}{}", windows(e)));
    }
    if let Some(waiting) = &e.waiting {
        let ratio = waiting
            .wait_ratio
            .map_or_else(String::new, |ratio| format!(" ({} of what they wanted)", percent(ratio)));
        let processes = match waiting.processes {
            1 => "1 process".to_owned(),
            count => format!("{count} processes"),
        };
        text += &paragraph(
            "  threads  ",
            &format!(
                "{} in {processes} used {:.0} ms of CPU, waited runnable or stopped {:.0} ms{ratio}",
                many(waiting.threads, "thread"),
                waiting.on_cpu_ms,
                waiting.run_delay_ms
            ),
        );
    }
    if let Some(pressure) = &e.pressure {
        text += &paragraph(
            "  pressure ",
            &format!(
                "some {}, full {} (stops are in both)",
                pressure.some_ratio.map_or_else(dash, percent),
                pressure.full_ratio.map_or_else(dash, percent)
            ),
        );
    }
    if let Some(machine) = &e.machine {
        let psi = machine
            .psi_some_ratio
            .map_or_else(String::new, |r| format!(", PSI some {}", percent(r)));
        text += &paragraph(
            "  machine  ",
            &format!(
                "{} of {} CPUs busy, others {}, this program {}, steal {}{psi}",
                cores(machine.busy_cores),
                e.host.cpus_online,
                machine.other_cores.map_or_else(dash, cores),
                cores(machine.own_cores),
                percent(machine.steal_ratio)
            ),
        );
    }
    text
}

fn windows(e: &Explain) -> String {
    match e.use_windows.as_slice() {
        [short, _] => format!(
            "; highest {:.0} s window {}, {} of {} at 90 % or more",
            short.seconds.max(1.0),
            percent(short.max_ratio),
            short.over_90_percent_count,
            short.count
        ),
        _ => String::new(),
    }
}

fn limit_row(limit: &Limit) -> Vec<String> {
    let name = match limit.kind {
        LimitKind::Quota => shorten(&limit.cgroup, 36),
        LimitKind::Cpuset => format!("cpuset {}", shorten(&limit.cgroup, 29)),
    };
    let cell = |f: fn(&Counters) -> Option<String>| {
        limit.counters.as_ref().and_then(f).unwrap_or_else(dash)
    };
    let size = match (limit.limit_cores, &limit.no_limit) {
        (Some(limit), _) => cores(limit).replace(" cores", "").replace(" core", ""),
        (None, Some(why)) if why == "unreadable" => "?".to_owned(),
        (None, _) => "none".to_owned(),
    };
    let binds = match limit.kind {
        LimitKind::Cpuset => "never",
        LimitKind::Quota if limit.binding => "yes",
        LimitKind::Quota if limit.limit_cores.is_none() => "-",
        LimitKind::Quota => "no",
    };
    vec![
        name,
        size,
        binds.to_owned(),
        cell(|c| Some(format!("{}/{}", c.nr_throttled?, c.nr_periods?))),
        cell(|c| c.throttle_ratio.map(percent)),
        cell(|c| c.throttle_wall_ratio.map(percent)),
        cell(|c| c.throttled_ms.map(|ms| format!("{ms:.0} ms"))),
        cell(|c| c.usage_cores.map(|used| format!("{used:.2}"))),
    ]
}

fn checked(e: &Explain) -> String {
    let mut text = "\nCHECKED (! = it is so, ok = it is not, ? = not decided)\n".to_owned();
    for finding in &e.findings {
        let mark = match finding.verdict {
            FindingWord::Accepted => "  !   ",
            FindingWord::Rejected => "  ok  ",
            FindingWord::NotEnoughData => "  ?   ",
        };
        let evidence = if finding.evidence.is_empty() {
            String::new()
        } else {
            format!(": {}", finding.evidence.join("; "))
        };
        text += &paragraph(mark, &format!("{}{evidence}", finding.message));
    }
    text
}

fn next_steps(e: &Explain) -> String {
    let steps: Vec<&String> = e
        .findings
        .iter()
        .filter(|finding| finding.verdict == FindingWord::Accepted)
        .filter_map(|finding| finding.next_step.as_ref())
        .collect();
    if steps.is_empty() {
        return String::new();
    }
    let lines: String = steps.iter().map(|step| paragraph("  - ", step)).collect();
    format!("\nNEXT\n{lines}")
}

fn losses(e: &Explain) -> String {
    if e.losses.is_empty() {
        return String::new();
    }
    let mut text = "\nNOT MEASURED\n".to_owned();
    for loss in &e.losses {
        let hint = loss.hint.as_ref().map_or_else(String::new, |hint| format!(" ({hint})"));
        text += &paragraph("  - ", &format!("{}: {}{hint}", loss.field, loss.reason));
    }
    text
}

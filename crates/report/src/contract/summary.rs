//! The verdict in one sentence.

use unthrottle_analysis::level::Level;
use unthrottle_analysis::model::rows::{LimitState, NoLimit};
use unthrottle_analysis::{Explanation, Verdict};

use crate::text::{cores, percent};

/// The verdict in one sentence.
pub fn summary(e: &Explanation) -> String {
    let name = &e.meta.target.name;
    match e.verdict {
        Verdict::Throttled => throttled(e),
        Verdict::NotMeasured if e.hidden_stop_suspected() => {
            let ratio = e.waiting.and_then(|waiting| waiting.ratio()).unwrap_or(0.0);
            format!(
                "a level that is hidden from here may have stopped `{name}`: its threads spent {} of \
                 the CPU time they wanted waiting beside idle CPUs",
                percent(ratio)
            )
        }
        Verdict::NotMeasured if e.too_short() && !e.counters_unreadable() => format!(
            "{:.1} s are too short to tell whether a limit of `{name}` stopped it: two periods at least",
            e.window.seconds()
        ),
        Verdict::NotMeasured => {
            format!("the counters of `{name}` or of a level above it could not be read")
        }
        Verdict::Contention => {
            let ratio = e.waiting.and_then(|waiting| waiting.ratio()).unwrap_or(0.0);
            format!(
                "no quota stopped `{name}`, but its threads spent {} of the CPU time they wanted \
                 waiting for a CPU",
                percent(ratio)
            )
        }
        Verdict::NotThrottled if e.throttled_below() => format!(
            "no level from `{name}` up stopped it, but {} of {} groups below with limits of their own \
             were stopped",
            e.below.iter().filter(|level| level.binding()).count(),
            e.below.len()
        ),
        Verdict::NotThrottled => not_throttled(e),
    }
}

fn throttled(e: &Explanation) -> String {
    let name = &e.meta.target.name;
    let worst = e
        .levels
        .iter()
        .filter(|level| level.binding())
        .max_by_key(|level| level.increase.counters.nr_throttled);
    let Some(worst) = worst else {
        return format!(
            "a level above what is visible here stopped `{name}`: cpu.stat.local counts its stops"
        );
    };
    let whose = if worst.group.group == e.target_key() {
        format!("`{name}` used up its CPU limit")
    } else {
        format!(
            "`{name}` was stopped by its parent `{}`, which used up its CPU limit",
            worst.group.path
        )
    };
    let others = e.binding().count().saturating_sub(1);
    let more = match others {
        0 => String::new(),
        1 => "; one more level was stopped too".to_owned(),
        n => format!("; {n} more levels were stopped too"),
    };
    format!("{whose} of {} in {}{more}", limit_of(worst), periods(worst))
}

/// A level's limit in words; the last one it had, if it was lifted while watched.
pub fn limit_of(level: &Level) -> String {
    let last = level.last_quota_cores().map_or_else(|| "?".to_owned(), cores);
    match level.limits.first().map(|row| row.limit.cores()) {
        Some(Some(first)) if cores(first) != last => format!("{} (later {last})", cores(first)),
        _ => last,
    }
}

/// A level's periods in words.
pub fn periods(level: &Level) -> String {
    let counters = &level.increase.counters;
    let (throttled, all) = (counters.nr_throttled.unwrap_or(0), counters.nr_periods.unwrap_or(0));
    let ratio = level.throttle_ratio().map_or_else(String::new, |r| format!(" ({})", percent(r)));
    format!("{throttled} of {all} active periods{ratio}")
}

fn not_throttled(e: &Explanation) -> String {
    let name = &e.meta.target.name;
    let limited: Vec<&Level> = e
        .levels
        .iter()
        .filter(|level| level.limit().is_some_and(|limit| limit.cores().is_some()))
        .collect();
    let no_bandwidth = Some(LimitState::None(NoLimit::NoBandwidth));
    let Some(nearest) = limited.last() else {
        if e.target().is_some_and(|target| target.limit() == no_bandwidth) {
            return format!(
                "this kernel has no CPU quotas (CONFIG_CFS_BANDWIDTH), so none can have stopped `{name}`"
            );
        }
        return format!("no level from `{name}` up to the root has a CPU limit");
    };
    let whose = if nearest.group.group == e.target_key() { "its" } else { "its parent's" };
    let limit = limit_of(nearest);
    match nearest.increase.counters.nr_periods {
        Some(0) => format!(
            "`{name}` drew nothing from {whose} CPU limit of {limit} in {:.1} s: no active period",
            e.window.seconds()
        ),
        Some(count) => format!(
            "`{name}` stayed within {whose} CPU limit of {limit}: none of {count} active periods was \
             throttled"
        ),
        None => format!("`{name}` stayed within {whose} CPU limit of {limit}"),
    }
}

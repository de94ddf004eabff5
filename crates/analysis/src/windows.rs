//! Use of the effective limit in windows of different length: what averages show and hide.

use unthrottle_model::recording::Recording;

use crate::level::{Level, effective, samples_of};

/// Use in windows of one length.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UseWindows {
    /// Length of a window, s, as it was read.
    pub seconds: f64,
    /// How many windows.
    pub count: usize,
    /// Mean use of the limit over all of them.
    pub mean_ratio: f64,
    /// Largest use of the limit in one of them.
    pub max_ratio: f64,
    /// Windows with 90 % or more.
    pub over_90_percent: usize,
}

/// Use of the effective limit between each two readings (about 1 s) and over the whole watch.
#[must_use]
pub fn use_windows(recording: &Recording, levels: &[Level], cpus: Option<u32>) -> Vec<UseWindows> {
    let samples = samples_of(recording, recording.meta.target.group);
    let online = recording.meta.host.cpus_online;
    let parts: Vec<(f64, f64)> = samples
        .windows(2)
        .filter_map(|pair| {
            let used = pair[1].counters.usage_ns?.checked_sub(pair[0].counters.usage_ns?)?;
            let span_ns = (pair[1].time_ns - pair[0].time_ns) as f64;
            let (limit, _) = effective(levels, cpus, online, Some(pair[0].time_ns));
            (used >= 0 && span_ns > 0.0).then_some((used as f64, span_ns * limit))
        })
        .collect();
    if parts.is_empty() {
        return Vec::new();
    }
    let span_s = match (samples.first(), samples.last()) {
        (Some(first), Some(last)) => (last.time_ns - first.time_ns) as f64 / 1e9,
        _ => 0.0,
    };
    let (used, allowed) =
        parts.iter().fold((0.0, 0.0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
    let mean = used / allowed;
    // The last interval may be cut short by the end of the watch, any one by a late reading before
    // it: shorter than half of the others it would show single periods.
    let step_s = span_s / parts.len() as f64;
    let full = parts.iter().filter(|part| part.1 >= allowed / parts.len() as f64 * 0.5);
    let ratios: Vec<f64> = full.map(|(used, allowed)| used / allowed).collect();
    let max = ratios.iter().copied().fold(0.0, f64::max);
    let over = |list: &[f64]| list.iter().filter(|ratio| **ratio >= 0.9).count();
    let whole = UseWindows {
        seconds: span_s,
        count: 1,
        mean_ratio: mean,
        max_ratio: mean,
        over_90_percent: over(&[mean]),
    };
    let short = UseWindows {
        seconds: step_s,
        count: ratios.len(),
        mean_ratio: mean,
        max_ratio: max,
        over_90_percent: over(&ratios),
    };
    if parts.len() == 1 { vec![whole] } else { vec![short, whole] }
}

//! `--fail-on`: when a finding is bad enough for exit code 1.

use std::str::FromStr;

use unthrottle_analysis::{Explanation, Verdict};
use unthrottle_model::units::parse_span_ns;

/// The condition.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum FailOn {
    /// Any throttling.
    Throttled,
    /// nr_throttled / nr_periods of some level at or above this.
    ThrottleRate(f64),
    /// p99 from the intended send time at or above this, ns. Needs requests.
    P99(i64),
}

impl FromStr for FailOn {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let usage = || format!("`{text}` is not `throttled`, `throttle-rate=5%` or `p99=50ms`");
        match text.split_once('=') {
            None if text == "throttled" => Ok(Self::Throttled),
            Some(("throttle-rate", rate)) => {
                let percent: f64 =
                    rate.trim_end_matches('%').trim().parse().map_err(|_| usage())?;
                let is_rate = rate.ends_with('%') && (0.0..=100.0).contains(&percent);
                if is_rate { Ok(Self::ThrottleRate(percent / 100.0)) } else { Err(usage()) }
            }
            Some(("p99", span)) => Ok(Self::P99(parse_span_ns(span).map_err(|e| e.to_string())?)),
            _ => Err(usage()),
        }
    }
}

impl FailOn {
    /// Whether it is so; `None` if what it asks for was not measured.
    #[must_use]
    pub fn met(&self, e: &Explanation) -> Option<bool> {
        if e.verdict == Verdict::NotMeasured {
            return None;
        }
        match self {
            Self::Throttled => Some(e.verdict == Verdict::Throttled),
            Self::ThrottleRate(rate) => {
                let rates = e.levels.iter().filter_map(|level| level.throttle_ratio());
                Some(rates.fold(0.0, f64::max) >= *rate && e.verdict == Verdict::Throttled)
            }
            Self::P99(limit_ns) => Some(e.requests.as_ref()?.from_intended?.p99_ns >= *limit_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grammar() {
        assert_eq!("throttled".parse(), Ok(FailOn::Throttled));
        assert_eq!("throttle-rate=5%".parse(), Ok(FailOn::ThrottleRate(0.05)));
        assert_eq!("p99=50ms".parse(), Ok(FailOn::P99(50_000_000)));
        for bad in ["", "throttle-rate=5", "throttle-rate=x%", "p99=50", "p98=1ms", "throttled=1"] {
            assert!(bad.parse::<FailOn>().is_err(), "{bad}");
        }
    }
}

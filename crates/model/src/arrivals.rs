//! The grammar of arrivals and their seeded generator.
//!
//! The load generator and the simulator draw from here, so that the same seed means the same
//! arrivals in both. What cannot be generated is an error that shows how it should be written; a
//! schedule is never silently shorter than what was asked for.

mod replay;

use std::fmt;
use std::str::FromStr;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rand_distr::{Distribution, Exp1};

use crate::error::{ErrorKind, Explained};
use crate::units::{MS, SEC, US, parse_rate_per_s, parse_span_ns};

pub use replay::{Replay, ReplayError, parse_replay};

/// Most arrivals one schedule may hold: 160 MB of times, and more than any run that is watched.
pub const MAX_ARRIVALS: usize = 20_000_000;

/// When requests arrive, independent of how they are answered.
#[derive(Debug, Clone, PartialEq)]
pub enum Arrivals {
    /// Independent arrivals: gaps are exponential, the one before the first arrival included.
    Poisson {
        /// Mean arrivals per second.
        per_s: f64,
    },
    /// Equal gaps, the first arrival at 0.
    Uniform {
        /// Arrivals per second.
        per_s: f64,
    },
    /// Several at the same instant, the first batch at 0.
    Batch {
        /// Arrivals in a batch.
        size: u32,
        /// From one batch to the next, ns.
        every_ns: i64,
    },
    /// The arrivals of a file.
    Replay {
        /// The file, to be read by the caller and parsed with [`parse_replay`].
        file: String,
        /// How many times faster than recorded.
        speed: f64,
    },
}

/// Arrivals that cannot be read or generated.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ArrivalsError {
    /// The word before the colon is not one of the four.
    #[error("`{text}`: arrivals begin with `poisson:`, `uniform:`, `batch:` or `replay:`")]
    Kind {
        /// What was typed.
        text: String,
    },
    /// What follows the colon is wrong.
    #[error("`{text}`: {what}")]
    Value {
        /// What was typed.
        text: String,
        /// What is wrong with it.
        what: String,
    },
    /// The values of the arrivals cannot be used, however they were made.
    #[error("arrivals `{arrivals}`: {what}")]
    Unusable {
        /// The arrivals in their own grammar.
        arrivals: String,
        /// What is wrong with them.
        what: &'static str,
    },
    /// The duration is not above zero.
    #[error("a schedule of {duration_ns} ns has no room for arrivals")]
    Duration {
        /// What was asked for, ns.
        duration_ns: i64,
    },
    /// More arrivals than [`MAX_ARRIVALS`].
    #[error("arrivals `{arrivals}` are more than {MAX_ARRIVALS} in the time asked for")]
    TooMany {
        /// The arrivals in their own grammar.
        arrivals: String,
    },
    /// A replay without the times of its file.
    #[error("arrivals `{arrivals}`: the times of the file were not given")]
    NoReplay {
        /// The arrivals in their own grammar.
        arrivals: String,
    },
}

impl Explained for ArrivalsError {
    fn kind(&self) -> ErrorKind {
        match self {
            Self::NoReplay { .. } => ErrorKind::Bug,
            _ => ErrorKind::User,
        }
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::NoReplay { .. } => None,
            Self::Duration { .. } => Some("ask for a longer time, such as `--for 30s`".to_owned()),
            Self::TooMany { .. } => Some("lower the rate or shorten the time".to_owned()),
            Self::Kind { .. } | Self::Value { .. } | Self::Unusable { .. } => Some(
                "write for instance `poisson:10/s`, `uniform:20/s`, `batch:8@400ms`, \
                 `replay:access.log` or `replay:access.log@2x`"
                    .to_owned(),
            ),
        }
    }
}

impl FromStr for Arrivals {
    type Err = ArrivalsError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fail = |what: String| ArrivalsError::Value { text: text.to_owned(), what };
        let (kind, value) = text
            .trim()
            .split_once(':')
            .ok_or_else(|| ArrivalsError::Kind { text: text.to_owned() })?;
        let rate = || parse_rate_per_s(value).map_err(|error| fail(error.to_string()));
        match kind {
            "poisson" => Ok(Self::Poisson { per_s: rate()? }),
            "uniform" => Ok(Self::Uniform { per_s: rate()? }),
            "batch" => {
                let (size, every) = value
                    .split_once('@')
                    .ok_or_else(|| fail("a batch is `SIZE@EVERY`, such as `8@400ms`".to_owned()))?;
                let size = size.trim();
                let size = size.parse().ok().filter(|size| *size > 0).ok_or_else(|| {
                    fail(format!("`{size}` is not a number of arrivals from 1 to {}", u32::MAX))
                })?;
                let every_ns = parse_span_ns(every).map_err(|error| fail(error.to_string()))?;
                Ok(Self::Batch { size, every_ns })
            }
            "replay" => {
                let (file, speed) = split_speed(value).map_err(fail)?;
                Ok(Self::Replay { file: file.to_owned(), speed })
            }
            _ => Err(ArrivalsError::Kind { text: text.to_owned() }),
        }
    }
}

/// Splits `FILE[@SPEEDx]`. A file name may hold an `@`, so only what looks like a speed is one.
fn split_speed(value: &str) -> Result<(&str, f64), String> {
    let (file, speed) = match value.rsplit_once('@') {
        Some((file, tail)) if looks_like_speed(tail) => {
            let number = tail
                .strip_suffix('x')
                .ok_or_else(|| format!("a speed ends in `x`: write `@{tail}x`"))?;
            let speed = number.parse().ok().filter(|speed| speed_is_usable(*speed));
            (file, speed.ok_or_else(|| format!("`{tail}` is not a speed above `0x`"))?)
        }
        _ => (value, 1.0),
    };
    if file.is_empty() { Err("no file is named".to_owned()) } else { Ok((file, speed)) }
}

fn looks_like_speed(tail: &str) -> bool {
    let number = tail.strip_suffix('x').unwrap_or(tail);
    !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.')
}

fn speed_is_usable(speed: f64) -> bool {
    speed > 0.0 && speed <= 1e9
}

impl fmt::Display for Arrivals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Poisson { per_s } => write!(f, "poisson:{per_s}/s"),
            Self::Uniform { per_s } => write!(f, "uniform:{per_s}/s"),
            Self::Batch { size, every_ns } => write!(f, "batch:{size}@{}", whole_span(*every_ns)),
            Self::Replay { file, speed } => {
                write!(f, "replay:{file}")?;
                // Shown too where the name alone would read as a name and a speed.
                let ambiguous = file.rsplit_once('@').is_some_and(|(_, t)| looks_like_speed(t));
                if *speed != 1.0 || ambiguous { write!(f, "@{speed}x") } else { Ok(()) }
            }
        }
    }
}

/// A span in the largest unit that writes it exactly.
fn whole_span(ns: i64) -> String {
    for (scale, unit) in [(SEC, "s"), (MS, "ms"), (US, "us")] {
        if ns % scale == 0 {
            return format!("{}{unit}", ns / scale);
        }
    }
    format!("{ns}ns")
}

impl Arrivals {
    /// The offsets from the start, ns: sorted, all in `0..duration_ns`.
    ///
    /// `seed` decides the Poisson draw alone, through ChaCha8: the same seed gives the same
    /// schedule on every machine and in every version of this program. `replay` holds the offsets
    /// of [`parse_replay`]; the other kinds ignore it.
    ///
    /// # Errors
    /// If the values cannot be used, the duration is not above zero, a replay has no offsets, or
    /// there would be more than [`MAX_ARRIVALS`].
    pub fn schedule(
        &self,
        seed: u64,
        duration_ns: i64,
        replay: Option<&[i64]>,
    ) -> Result<Vec<i64>, ArrivalsError> {
        self.check()?;
        if duration_ns <= 0 {
            return Err(ArrivalsError::Duration { duration_ns });
        }
        match self {
            Self::Poisson { per_s } => {
                let gap_ns = SEC as f64 / per_s;
                let mut random = ChaCha8Rng::seed_from_u64(seed);
                let mut at = 0.0_f64;
                self.collect(std::iter::from_fn(|| {
                    let gap: f64 = Exp1.sample(&mut random);
                    at += gap * gap_ns;
                    within(at, duration_ns)
                }))
            }
            Self::Uniform { per_s } => {
                let gap_ns = SEC as f64 / per_s;
                self.collect((0_u32..).map_while(|k| within(f64::from(k) * gap_ns, duration_ns)))
            }
            Self::Batch { size, every_ns } => self.collect(
                (0..duration_ns)
                    .step_by(usize::try_from(*every_ns).unwrap_or(usize::MAX))
                    .flat_map(|at| std::iter::repeat_n(at, *size as usize)),
            ),
            Self::Replay { speed, .. } => {
                let offsets =
                    replay.ok_or_else(|| ArrivalsError::NoReplay { arrivals: self.to_string() })?;
                let mut sorted = self.collect(offsets.iter().filter_map(|offset| {
                    // Not through a float at recorded speed: that would round long offsets.
                    let at = if *speed == 1.0 { *offset } else { (*offset as f64 / speed) as i64 };
                    (0..duration_ns).contains(&at).then_some(at)
                }))?;
                sorted.sort_unstable();
                Ok(sorted)
            }
        }
    }

    /// Counts while it collects, so that a mistyped rate is an error and not all of the memory.
    fn collect(&self, times: impl Iterator<Item = i64>) -> Result<Vec<i64>, ArrivalsError> {
        let taken: Vec<i64> = times.take(MAX_ARRIVALS + 1).collect();
        if taken.len() > MAX_ARRIVALS {
            return Err(ArrivalsError::TooMany { arrivals: self.to_string() });
        }
        Ok(taken)
    }

    /// The fields are public, so values may come from elsewhere than the grammar.
    fn check(&self) -> Result<(), ArrivalsError> {
        let what = match self {
            Self::Poisson { per_s } | Self::Uniform { per_s }
                if !(per_s.is_finite() && *per_s > 0.0) =>
            {
                "the rate is not above zero"
            }
            Self::Batch { size: 0, .. } => "a batch is empty",
            Self::Batch { every_ns, .. } if *every_ns <= 0 => {
                "the time between batches is not above zero"
            }
            Self::Replay { speed, .. } if !speed_is_usable(*speed) => "the speed is not above zero",
            _ => return Ok(()),
        };
        Err(ArrivalsError::Unusable { arrivals: self.to_string(), what })
    }
}

/// Whole ns, if that is before the end.
fn within(at: f64, duration_ns: i64) -> Option<i64> {
    // A float beyond the range of i64 becomes its largest value, which is never before the end.
    let at = at as i64;
    (at < duration_ns).then_some(at)
}

#[cfg(test)]
mod tests;

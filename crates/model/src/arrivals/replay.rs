//! Times of arrivals from a file that someone already has.
//!
//! The first line that says anything decides what the file is; every further line must be the
//! same. A line that is not is an error with its number: a log read by half would be another load.

use jiff::Timestamp;
use jiff::fmt::strtime;

use super::MAX_ARRIVALS;
use crate::error::{ErrorKind, Explained};
use crate::requests::{CSV_HEADER, CsvError, from_csv};
use crate::units::SEC;

/// The arrivals of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replay {
    /// Offsets from the first arrival, ns; sorted, so the first is 0.
    pub offsets_ns: Vec<i64>,
    /// The file tells only whole seconds, and the arrivals of one second were spread evenly over
    /// it. Bursts shorter than a second are lost.
    pub spread_within_seconds: bool,
}

/// A file of arrivals that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// Nothing but blank lines and comments.
    #[error("the file holds no arrivals")]
    Empty,
    /// The first line is of no known kind.
    #[error("line {line}: `{text}` begins none of the formats that can be replayed")]
    Unknown {
        /// Line number from 1.
        line: usize,
        /// What stands there, shortened.
        text: String,
    },
    /// A line is not what the first one was.
    #[error("line {line}: `{text}` is not {expected}")]
    Line {
        /// Line number from 1.
        line: usize,
        /// What stands there, shortened.
        text: String,
        /// What it should have been.
        expected: &'static str,
    },
    /// A requests file with a broken line.
    #[error(transparent)]
    Requests(#[from] CsvError),
    /// The times lie too far apart.
    #[error("first and last arrival are more than 292 years apart")]
    Span,
    /// More arrivals than a schedule may hold.
    #[error("the file holds more than {MAX_ARRIVALS} arrivals")]
    TooMany,
}

impl Explained for ReplayError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::User
    }
    fn hint(&self) -> Option<String> {
        match self {
            Self::TooMany => Some("replay a part of it, for instance from `split -l`".to_owned()),
            _ => Some(
                "a replay file is one of: a requests file of `unthrottle lab load --requests`; one \
                 number of seconds a line; lines that begin with an RFC 3339 time such as \
                 `2026-01-31T12:00:00.5Z`; an access log with `[31/Jan/2026:12:00:00 +0000]`"
                    .to_owned(),
            ),
        }
    }
}

/// What one line can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Seconds,
    Rfc3339,
    AccessLog,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Seconds, Self::Rfc3339, Self::AccessLog];

    fn expected(self) -> &'static str {
        match self {
            Self::Seconds => "a number of seconds, such as `12.5`",
            Self::Rfc3339 => "a line that begins with an RFC 3339 time with its offset",
            Self::AccessLog => "a line with a time such as `[10/Oct/2000:13:55:36 -0700]`",
        }
    }

    /// The time of a line, ns.
    fn read(self, line: &str) -> Option<i64> {
        match self {
            Self::Seconds => seconds(line),
            Self::Rfc3339 => rfc3339(line),
            Self::AccessLog => access_log(line),
        }
    }
}

/// Reads the times of a file in any of four formats: our own requests file (its intended times),
/// one number of seconds a line (offset or epoch), lines that begin with an RFC 3339 time, and the
/// common or combined access log.
///
/// Blank lines and lines that begin with `#` are passed over. The times are sorted, as servers log
/// at the end of a request, and count from the first. Where a log of either kind tells only whole
/// seconds, the arrivals of one second are spread over it; plain numbers are taken as they are.
///
/// # Errors
/// With the line number, if a line has no time or the first is of no known kind; if there are none
/// or too many arrivals.
pub fn parse_replay(text: &str) -> Result<Replay, ReplayError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.lines().next().map(str::trim) == Some(CSV_HEADER) {
        let times = from_csv(text)?.iter().map(|row| row.intended_ns).collect();
        return normalised(times, false);
    }
    let mut kind = None;
    let mut times = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            continue;
        }
        let shown = || trimmed.chars().take(60).collect::<String>();
        let known = match kind {
            Some(known) => known,
            None => Kind::ALL
                .into_iter()
                .find(|kind| kind.read(trimmed).is_some())
                .ok_or_else(|| ReplayError::Unknown { line: index + 1, text: shown() })?,
        };
        kind = Some(known);
        times.push(known.read(trimmed).ok_or_else(|| ReplayError::Line {
            line: index + 1,
            text: shown(),
            expected: known.expected(),
        })?);
        if times.len() > MAX_ARRIVALS {
            return Err(ReplayError::TooMany);
        }
    }
    let whole_seconds = match kind {
        Some(Kind::AccessLog) => true,
        Some(Kind::Rfc3339) => times.iter().all(|time| time % SEC == 0),
        Some(Kind::Seconds) | None => false,
    };
    normalised(times, whole_seconds)
}

fn normalised(mut times: Vec<i64>, whole_seconds: bool) -> Result<Replay, ReplayError> {
    if times.len() > MAX_ARRIVALS {
        return Err(ReplayError::TooMany);
    }
    times.sort_unstable();
    let (Some(&first), Some(&last)) = (times.first(), times.last()) else {
        return Err(ReplayError::Empty);
    };
    last.checked_sub(first).and_then(|span| span.checked_add(SEC)).ok_or(ReplayError::Span)?;
    for time in &mut times {
        *time -= first;
    }
    let spread_within_seconds = whole_seconds && spread(&mut times);
    Ok(Replay { offsets_ns: times, spread_within_seconds })
}

/// Spreads those of one second evenly over it; tells whether any second held more than one.
fn spread(times: &mut [i64]) -> bool {
    let mut any = false;
    for second in times.chunk_by_mut(|a, b| a == b) {
        let count = second.len() as i64;
        any |= count > 1;
        for (place, time) in second.iter_mut().enumerate() {
            *time += place as i64 * SEC / count;
        }
    }
    any
}

/// `12`, `12.5` or `1.7e9` seconds as ns. Decimals are read as integers: a float has not enough
/// digits for the nanoseconds of an epoch.
fn seconds(text: &str) -> Option<i64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if !(digits(whole) && digits(fraction)) {
        return scientific(text);
    }
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    let nine: String = fraction.chars().chain(std::iter::repeat('0')).take(9).collect();
    whole.checked_mul(SEC)?.checked_add(nine.parse().ok()?)
}

/// What number tools write by default (`1.700000000000000000e+09`).
fn scientific(text: &str) -> Option<i64> {
    let plain = text.starts_with(|c: char| c.is_ascii_digit()) && text.contains(['e', 'E']);
    let value = text.parse::<f64>().ok().filter(|_| plain)? * SEC as f64;
    (value < i64::MAX as f64).then_some(value.round() as i64)
}

/// The time at the beginning of a line, whatever follows it.
fn rfc3339(line: &str) -> Option<i64> {
    const DATE_AND_TIME: usize = "2026-01-31T12:00:00".len();
    let bytes = line.as_bytes();
    if !matches!(bytes.get(10)?, b'T' | b't' | b' ' | b'_') {
        return None;
    }
    let mut end = DATE_AND_TIME;
    if matches!(bytes.get(end)?, b'.' | b',') {
        end += 1;
        end += bytes.get(end..)?.iter().take_while(|byte| byte.is_ascii_digit()).count();
    }
    end += match bytes.get(end)? {
        b'Z' | b'z' => 1,
        b'+' | b'-' if bytes.get(end + 3) == Some(&b':') => "+00:00".len(),
        b'+' | b'-' => "+0000".len(),
        _ => return None,
    };
    // `,` before the fraction is what ISO 8601 prefers, and `_` some tools' blank.
    let time = line.get(..end)?.replace('_', "T");
    to_ns(time.parse().ok()?)
}

/// The first bracketed time; a user's name may hold a bracket before it.
fn access_log(line: &str) -> Option<i64> {
    line.match_indices('[').find_map(|(at, _)| {
        let inside = line.get(at + 1..)?.split_once(']')?.0;
        let time = strtime::parse("%d/%b/%Y:%H:%M:%S %z", inside).ok()?;
        to_ns(time.to_timestamp().ok()?)
    })
}

fn to_ns(time: Timestamp) -> Option<i64> {
    i64::try_from(time.as_nanosecond()).ok()
}

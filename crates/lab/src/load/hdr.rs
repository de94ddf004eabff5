//! Latencies as an HdrHistogram log, for the viewers that people already have.

use std::collections::BTreeMap;
use std::time::Duration;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriter, IntervalLogWriterBuilder, Tag};
use unthrottle_model::requests::RequestRow;
use unthrottle_model::units::SEC;
use unthrottle_model::{ErrorKind, Explained};

/// Significant decimal digits of each value.
const DIGITS: u8 = 3;

/// A log that cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum HdrError {
    /// A histogram cannot hold a value.
    #[error("a histogram cannot hold `{value_ns}` ns")]
    Value {
        /// The value, ns.
        value_ns: u64,
    },
    /// A histogram cannot be written.
    #[error("the HdrHistogram log cannot be written: {what}")]
    Write {
        /// What the library said.
        what: String,
    },
}

impl Explained for HdrError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::Bug
    }
}

/// What one row adds to the histogram of a tag, if anything.
type Measure = fn(&RequestRow) -> Option<i64>;

/// The tags in the order of their lines.
const TAGS: [(&str, Measure); 3] = [
    ("intended", RequestRow::latency_intended_ns),
    ("sent", RequestRow::latency_sent_ns),
    ("lateness", RequestRow::lateness_ns),
];

/// A V2 interval log: for each second of the schedule, by intended time, one histogram for each of
/// the tags `intended` (latency from the intended send time), `sent` (latency from the actual one)
/// and `lateness` (between the two). Values, and the maximum on each line, are ns.
///
/// Rows without a complete response have no latency; a comment tells how many. Times count from the
/// start of the schedule.
///
/// # Errors
/// If the library refuses a value or to write.
pub fn hdr_log(rows: &[RequestRow], start_ns: i64) -> Result<Vec<u8>, HdrError> {
    let mut seconds: BTreeMap<i64, Vec<&RequestRow>> = BTreeMap::new();
    for row in rows {
        let second = row.intended_ns.saturating_sub(start_ns).div_euclid(SEC).max(0);
        seconds.entry(second).or_default().push(row);
    }
    let complete = rows.iter().filter(|row| row.done_ns.is_some()).count();
    let mut log = Vec::new();
    let mut serializer = V2DeflateSerializer::new();
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment(&format!(
            "[Unit: ns; {complete} of {} sends have a complete response]",
            rows.len()
        ))
        .begin_log_with(&mut log, &mut serializer)
        .map_err(write_error)?;
    for (second, rows) in seconds {
        for (tag, measure) in TAGS {
            let values = rows.iter().filter_map(|row| measure(row));
            write_line(&mut writer, second, tag, values)?;
        }
    }
    Ok(log)
}

fn write_line(
    writer: &mut IntervalLogWriter<'_, '_, Vec<u8>, V2DeflateSerializer>,
    second: i64,
    tag: &str,
    values: impl Iterator<Item = i64>,
) -> Result<(), HdrError> {
    let mut histogram = Histogram::<u64>::new(DIGITS).map_err(write_error)?;
    for value in values {
        // Both times are of one clock, so below zero only in rows from a broken file.
        let value_ns = u64::try_from(value).unwrap_or(0);
        histogram.record(value_ns).map_err(|_| HdrError::Value { value_ns })?;
    }
    if histogram.is_empty() {
        return Ok(());
    }
    let start = Duration::from_secs(second.unsigned_abs());
    writer
        .write_histogram(&histogram, start, Duration::from_secs(1), Tag::new(tag))
        .map_err(write_error)
}

fn write_error(error: impl std::fmt::Display) -> HdrError {
    HdrError::Write { what: error.to_string() }
}

#[cfg(test)]
#[path = "tests/hdr.rs"]
mod tests;

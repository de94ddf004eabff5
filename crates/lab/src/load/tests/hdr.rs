//! The exported histograms hold what the rows say.

use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use unthrottle_model::requests::Outcome;
use unthrottle_model::units::MS;

use super::*;

fn row(intended_ns: i64, late: i64, latency: Option<i64>) -> RequestRow {
    RequestRow {
        intended_ns,
        sent_ns: Some(intended_ns + late),
        first_byte_ns: None,
        done_ns: latency.map(|latency| intended_ns + latency),
        local_port: None,
        status: None,
        outcome: if latency.is_some() { Outcome::Ok } else { Outcome::Timeout },
    }
}

/// Base 64, to read what the library wrote without another dependency.
fn decode(text: &str) -> Vec<u8> {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let (mut bits, mut held, mut bytes) = (0_u32, 0, Vec::new());
    for byte in text.bytes().filter(|byte| *byte != b'=') {
        let value = alphabet.iter().position(|known| *known == byte).expect("base 64");
        bits = (bits << 6 | value as u32) & 0xffff;
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held) as u8);
        }
    }
    bytes
}

/// Tag, second, count, minimum and maximum of each line.
fn read(log: &[u8]) -> Vec<(String, u64, u64, u64, u64)> {
    IntervalLogIterator::new(log)
        .map(|entry| match entry.expect("a line") {
            LogEntry::Interval(line) => {
                let bytes = decode(line.encoded_histogram());
                let histogram: Histogram<u64> =
                    Deserializer::new().deserialize(&mut bytes.as_slice()).expect("a histogram");
                assert_eq!(line.duration(), Duration::from_secs(1));
                let tag = line.tag().expect("a tag").as_str().to_owned();
                let second = line.start_timestamp().as_secs();
                (tag, second, histogram.len(), histogram.min(), histogram.max())
            }
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn both_latencies_and_lateness_by_the_second() {
    let start = 77 * MS;
    let rows = [
        row(start, 0, Some(20 * MS)),
        row(start + 999 * MS, 5 * MS, Some(40 * MS)),
        row(start + 2_500 * MS, 1, None),
    ];
    let log = hdr_log(&rows, start).expect("a log");
    // Three digits: a value stands for those within a thousandth.
    let near = |value: u64, wanted: i64| value.abs_diff(wanted as u64) <= wanted as u64 / 1000;
    let lines = read(&log);
    let tags: Vec<_> = lines.iter().map(|(tag, s, n, ..)| (tag.as_str(), *s, *n)).collect();
    assert_eq!(tags, [("intended", 0, 2), ("sent", 0, 2), ("lateness", 0, 2), ("lateness", 2, 1)]);
    assert!(near(lines[0].3, 20 * MS) && near(lines[0].4, 40 * MS), "{lines:?}");
    assert!(near(lines[1].3, 20 * MS) && near(lines[1].4, 35 * MS), "{lines:?}");
    assert!(lines[2].3 == 0 && near(lines[2].4, 5 * MS), "{lines:?}");
    let text = String::from_utf8(log).expect("text");
    assert!(text.starts_with("#[Histogram log format version 1.3]\n"), "{text}");
    assert!(text.contains("2 of 3 sends have a complete response"), "{text}");
}

#[test]
fn nothing_and_extremes() {
    assert_eq!(read(&hdr_log(&[], 5).expect("an empty log")), []);
    let year = 365 * 24 * 3600 * SEC;
    let broken = [row(0, -5, Some(-7)), row(i64::MIN, 0, None), row(3, 0, Some(year))];
    let lines = read(&hdr_log(&broken, i64::MAX).expect("a log"));
    assert!(lines.iter().all(|line| line.1 == 0), "{lines:?}");
}

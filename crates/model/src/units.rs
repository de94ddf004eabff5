//! Units as people type and read them: `20ms`, `0.5` or `500m` cores, `10/s`.

use crate::error::{ErrorKind, Explained};

/// Nanoseconds in a microsecond.
pub const US: i64 = 1_000;
/// Nanoseconds in a millisecond.
pub const MS: i64 = 1_000_000;
/// Nanoseconds in a second.
pub const SEC: i64 = 1_000_000_000;

/// A value that cannot be read as the unit it should have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}")]
pub struct UnitError {
    /// What was typed.
    pub text: String,
    /// What it should have been, with an example.
    pub expected: &'static str,
}

impl Explained for UnitError {
    fn kind(&self) -> ErrorKind {
        ErrorKind::User
    }
}

/// Reads a positive span such as `20ms`, `1.5s`, `100us`, `2m`, `1h` into nanoseconds.
///
/// # Errors
/// If the unit is missing or unknown, or the span is not above zero or does not fit.
pub fn parse_span_ns(text: &str) -> Result<i64, UnitError> {
    let fail = || UnitError {
        text: text.to_owned(),
        expected: "a span of time with its unit, such as `20ms`, `30s` or `2m`",
    };
    let trimmed = text.trim();
    let at = trimmed.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(fail)?;
    let (number, unit) = trimmed.split_at(at);
    let scale = match unit {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        "h" => 3600e9,
        _ => return Err(fail()),
    };
    let value = parse_number(number).ok_or_else(fail)? * scale;
    // 10^17 ns is three years: longer than anything that is watched, and far from overflow.
    if (1.0..=1e17).contains(&value) { Ok(value.round() as i64) } else { Err(fail()) }
}

/// Reads cores: `0.5`, `2` or, as Kubernetes writes them, `500m`.
///
/// # Errors
/// If it is not a number above zero.
pub fn parse_cores(text: &str) -> Result<f64, UnitError> {
    let fail = || UnitError {
        text: text.to_owned(),
        expected: "a number of cores, such as `0.5`, `500m` or `2`",
    };
    let trimmed = text.trim();
    let (number, scale) = match trimmed.strip_suffix('m') {
        Some(milli) => (milli, 1e-3),
        None => (trimmed, 1.0),
    };
    let value = parse_number(number).ok_or_else(fail)? * scale;
    if value > 0.0 && value <= 65_536.0 { Ok(value) } else { Err(fail()) }
}

/// Reads a rate such as `10/s` or `600/m` into events per second.
///
/// # Errors
/// If the unit of time is missing or the rate is not above zero.
pub fn parse_rate_per_s(text: &str) -> Result<f64, UnitError> {
    let fail = || UnitError {
        text: text.to_owned(),
        expected: "a rate with its unit, such as `10/s` or `600/m`",
    };
    let (number, unit) = text.trim().split_once('/').ok_or_else(fail)?;
    let per_s = match unit {
        "s" => 1.0,
        "m" | "min" => 1.0 / 60.0,
        "h" => 1.0 / 3600.0,
        _ => return Err(fail()),
    };
    let value = parse_number(number).ok_or_else(fail)? * per_s;
    if value > 0.0 && value <= 1e7 { Ok(value) } else { Err(fail()) }
}

/// Plain decimal only: `1e3`, `inf` and `nan` are typing mistakes in a limit.
fn parse_number(text: &str) -> Option<f64> {
    let text = text.trim();
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    if plain { text.parse().ok() } else { None }
}

/// Writes a span in the unit that suits its size: `20.6 ms`, `1.5 s`, `12 us`.
#[must_use]
pub fn show_span(ns: i64) -> String {
    let size = ns.unsigned_abs() as f64;
    let value = ns as f64;
    if size >= 100e9 {
        format!("{:.0} s", value / 1e9)
    } else if size >= 1e9 {
        format!("{:.1} s", value / 1e9)
    } else if size >= 1e6 {
        format!("{:.1} ms", value / 1e6)
    } else {
        format!("{:.0} us", value / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans() {
        for (text, ns) in [
            ("20ms", Some(20 * MS)),
            ("1.5s", Some(1_500 * MS)),
            ("100us", Some(100 * US)),
            ("2m", Some(120 * SEC)),
            (" 30s ", Some(30 * SEC)),
            ("20", None),
            ("0s", None),
            ("-1s", None),
            ("1e9s", None),
            ("1 fortnight", None),
            ("99999999999h", None),
            ("", None),
        ] {
            assert_eq!(parse_span_ns(text).ok(), ns, "{text}");
        }
    }

    #[test]
    fn cores() {
        for (text, cores) in [
            ("0.5", Some(0.5)),
            ("500m", Some(0.5)),
            ("2", Some(2.0)),
            ("0", None),
            ("-1", None),
            ("nan", None),
            ("inf", None),
            ("half", None),
        ] {
            assert_eq!(parse_cores(text).ok(), cores, "{text}");
        }
    }

    #[test]
    fn rates() {
        for (text, rate) in [
            ("10/s", Some(10.0)),
            ("600/m", Some(10.0)),
            ("10", None),
            ("0/s", None),
            ("a/s", None),
        ] {
            assert_eq!(parse_rate_per_s(text).ok(), rate, "{text}");
        }
    }
}

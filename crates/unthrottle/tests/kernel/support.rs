//! Running the command and reading its JSON.

use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The binary under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_unthrottle");

/// Runs it to its end.
#[track_caller]
pub fn run(args: &[&str]) -> Output {
    Command::new(BINARY).args(args).stdin(Stdio::null()).output().expect("cannot start unthrottle")
}

/// Its exit code.
pub fn code(output: &Output) -> i32 {
    output.status.code().unwrap_or(-1)
}

/// What it said on stderr.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Its JSON; a failed test if there is none.
#[track_caller]
pub fn json(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        panic!("no JSON ({error}), exit {}: {text}\n{}", code(output), said(output))
    })
}

/// `explain TARGET --for SPAN --format json`.
#[track_caller]
pub fn explain(target: &str, span: &str) -> Value {
    let output = run(&["explain", target, "--for", span, "--format", "json"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    json(&output)
}

/// The same, in the background.
pub fn explain_in_background(target: &str, span: &str) -> std::process::Child {
    Command::new(BINARY)
        .args(["explain", target, "--for", span, "--format", "json"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cannot start unthrottle")
}

/// A number of a document.
#[track_caller]
pub fn number(document: &Value, pointer: &str) -> f64 {
    let value = document.pointer(pointer).unwrap_or(&Value::Null);
    value.as_f64().unwrap_or_else(|| panic!("{pointer} is {value} in {document:#}"))
}

/// A word of a document.
#[track_caller]
pub fn word<'a>(document: &'a Value, pointer: &str) -> &'a str {
    let value = document.pointer(pointer).unwrap_or(&Value::Null);
    value.as_str().unwrap_or_else(|| panic!("{pointer} is {value} in {document:#}"))
}

/// The row of a level by its path.
#[track_caller]
pub fn level<'a>(document: &'a Value, path: &str) -> &'a Value {
    let rows = document["limits"].as_array().expect("limits");
    let is = |row: &&Value| row["cgroup"] == path && row["kind"] == "quota";
    rows.iter().find(is).unwrap_or_else(|| panic!("no level {path} in {document:#}"))
}

/// Verdict of a finding; `None` if it was not asked.
pub fn finding<'a>(document: &'a Value, check: &str) -> Option<&'a str> {
    let all = document["findings"].as_array()?;
    all.iter().find(|each| each["check"] == check)?["verdict"].as_str()
}

/// Whether a loss of the field has this in its reason.
pub fn lost(document: &Value, field: &str, reason: &str) -> bool {
    let all = document["losses"].as_array().expect("losses");
    let text = |each: &Value| each["reason"].as_str().unwrap_or("").to_owned();
    all.iter().any(|each| each["field"] == field && text(each).contains(reason))
}

/// Waits until something holds; a failed test after ten seconds.
#[track_caller]
pub fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(10), "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Groups of the lab (not those of tests) in any v1 hierarchy.
pub fn lab_groups() -> Vec<String> {
    let mut found = Vec::new();
    for hierarchy in ["cpu", "cpuacct"] {
        let top = format!("/sys/fs/cgroup/{hierarchy}");
        for entry in std::fs::read_dir(&top).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let digits = name.strip_prefix("unthrottle-").unwrap_or("x");
            if digits.starts_with(|c: char| c.is_ascii_digit()) {
                found.push(format!("{top}/{name}"));
            }
        }
    }
    found
}

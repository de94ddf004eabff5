//! `--requests FILE`: good, empty, broken, missing, of another time.

use std::path::PathBuf;

use unthrottle_source::monotonic_ns;
use unthrottle_testkit::FakeTree;

use crate::support::{Ran, explain_through, json, throttle, throttled_service};

const HEADER: &str = "intended_ns,sent_ns,first_byte_ns,done_ns,local_port,status,outcome";

fn file(tree: &FakeTree, text: &str) -> PathBuf {
    let path = tree.root().join("requests.csv");
    std::fs::write(&path, text).expect("written");
    path
}

/// One row a microsecond from now on, so that all are of the window; every tenth timed out.
fn rows_from_now(count: i64, latency_ms: i64) -> String {
    let now_ns = monotonic_ns();
    let row = |index: i64| {
        let intended_ns = now_ns + index * 1_000;
        if index % 10 == 9 {
            return format!("{intended_ns},{intended_ns},,,40000,,timeout\n");
        }
        let sent_ns = intended_ns + 100_000;
        let done_ns = intended_ns + latency_ms * 1_000_000;
        format!("{intended_ns},{sent_ns},{done_ns},{done_ns},40000,200,ok\n")
    };
    format!("{HEADER}\n{}", (0..count).map(row).collect::<String>())
}

#[track_caller]
fn explain(tree: &FakeTree, file: &str, more: &[&str], step: impl FnOnce(&FakeTree)) -> Ran {
    let mut args = vec!["--requests", file];
    args.extend(more);
    explain_through(tree, "unit:web", &args, |tree| {
        throttle(tree);
        step(tree);
    })
}

/// Rows are written while `explain` watches, as `lab load` does.
#[test]
fn rows_of_the_window_become_latencies() {
    let tree = throttled_service();
    let path = file(&tree, "");
    let name = path.display().to_string();
    let ran = explain(&tree, &name, &["--format", "json"], |_| {
        std::fs::write(&path, rows_from_now(200, 25)).expect("written");
    });
    assert_eq!(ran.code, 0, "{}", ran.err);
    let document = json(&ran);
    let requests = &document["requests"];
    assert_eq!(requests["count"], 200, "{requests:#}");
    assert_eq!(requests["completed_count"], 180);
    assert_eq!(requests["failed"]["timeout"], 20);
    assert_eq!(requests["p50_ms"], 25.0);
    assert_eq!(requests["from_send"]["p50_ms"], 24.9);
    assert_eq!(requests["lateness"]["p50_ms"], 0.1);
    assert_eq!(requests["p99_weak"], true);
    assert_eq!(requests["slowest"].as_array().map(Vec::len), Some(10));
    let lost = document["losses"].as_array().expect("losses");
    assert!(!lost.iter().any(|loss| loss["field"] == "requests"), "{lost:?}");
}

#[test]
fn latencies_can_fail_a_run() {
    for (condition, code) in [("p99=25ms", 1), ("p99=26ms", 0)] {
        let tree = throttled_service();
        let path = file(&tree, "");
        let name = path.display().to_string();
        let ran = explain(&tree, &name, &["--fail-on", condition], |_| {
            std::fs::write(&path, rows_from_now(100, 25)).expect("written");
        });
        assert_eq!(ran.code, code, "{condition}: {}", ran.out);
        assert!(ran.out.contains("p99 25.0 ms"), "{}", ran.out);
    }
}

/// A row that is still being written is left out, and the others count.
#[test]
fn a_half_written_last_line_is_left_out() {
    let tree = throttled_service();
    let path = file(&tree, "");
    let name = path.display().to_string();
    let ran = explain(&tree, &name, &["--format", "json"], |_| {
        let rows = rows_from_now(11, 5) + "123456789,12";
        std::fs::write(&path, rows).expect("written");
    });
    assert_eq!(json(&ran)["requests"]["count"], 11, "{}", ran.err);
}

/// The load did not begin, or not yet: the rest is still an answer.
#[test]
fn an_empty_file_has_no_requests_and_says_so() {
    for text in ["", &format!("{HEADER}\n")] {
        let tree = throttled_service();
        let name = file(&tree, text).display().to_string();
        let ran = explain(&tree, &name, &["--format", "json"], |_| ());
        assert_eq!(ran.code, 0, "{}", ran.err);
        let document = json(&ran);
        assert!(document["requests"].is_null());
        no_request_in_the_window(&document);
        let ran = explain(&tree, &name, &["--fail-on", "p99=1ms"], |_| ());
        assert_eq!(ran.code, 3, "what was asked was not measured");
    }
}

#[track_caller]
fn no_request_in_the_window(document: &serde_json::Value) {
    let losses = document["losses"].as_array().expect("losses");
    let of: Vec<_> = losses.iter().filter(|loss| loss["field"] == "requests").collect();
    assert_eq!(of.len(), 1, "{losses:#?}");
    let reason = of[0]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("window"), "{reason}");
}

#[test]
fn rows_of_another_time_are_not_counted() {
    let tree = throttled_service();
    let text = format!("{HEADER}\n1,2,3,4,40000,200,ok\n99,100,101,102,40000,200,ok\n");
    let name = file(&tree, &text).display().to_string();
    let ran = explain(&tree, &name, &["--format", "json"], |_| ());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let document = json(&ran);
    assert!(document["requests"].is_null());
    no_request_in_the_window(&document);
}

#[test]
fn a_missing_file_is_told_before_anything_is_watched() {
    let tree = throttled_service();
    let started = std::time::Instant::now();
    let args = ["--requests", "/nonexistent/rows.csv", "--for", "1h"];
    let ran = explain_through(&tree, "unit:web", &args, |_| ());
    assert!(started.elapsed().as_secs() < 30, "it watched first");
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    insta::assert_snapshot!(ran.err, @r"
    error: cannot read `/nonexistent/rows.csv`
      cause: No such file or directory (os error 2)
    hint: check that the path is right and that you may use it
    ");
}

#[test]
fn broken_files_are_the_users_mistake_and_named_with_their_line() {
    let now_ns = 5_000;
    let huge = format!("{now_ns},{now_ns},,-9223372036854775808,40000,200,ok");
    let mut told = String::new();
    for text in [
        "not a header\n",
        &format!("{HEADER}\nx,,,,,,ok\n"),
        &format!("{HEADER}\n1,2,3,4,40000,200,ok\n1,2,3\n"),
        &format!("{HEADER}\n1,2,3,4,40000,200,perhaps\n"),
        &format!("{HEADER}\n1,2,3,4,99999,200,ok\n"),
        &format!("{HEADER}\n99999999999999999999,2,3,4,1,200,ok\n"),
        &format!("{HEADER}\n{huge}\n"),
        &format!("{HEADER}\n1,\u{1b}[31m,3,4,1,200,ok\n"),
    ] {
        let tree = throttled_service();
        let name = file(&tree, text).display().to_string();
        let ran = explain(&tree, &name, &[], |_| ());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{text}: {}", ran.err);
        assert!(ran.err.contains("requests.csv"), "{}", ran.err);
        told += &ran.err.replace(&name, "FILE");
    }
    insta::assert_snapshot!("broken-requests", told);
}

#[test]
fn a_file_that_is_no_text_is_the_users_mistake() {
    let tree = throttled_service();
    let path = file(&tree, "");
    std::fs::write(&path, [0xff, 0xfe, 0x00, b'\n']).expect("written");
    let ran = explain(&tree, &path.display().to_string(), &[], |_| ());
    assert_eq!(ran.code, 2, "{}", ran.err);
    let directory = tree.root().display().to_string();
    let ran = explain(&throttled_service(), &directory, &[], |_| ());
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains(&directory), "{}", ran.err);
}

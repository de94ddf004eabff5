//! Where the output goes: closed pipes and full disks.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use unthrottle_testkit::FakeTree;

use crate::support::{command, finish, on, run, start, throttled_service};

fn full() -> File {
    OpenOptions::new().write(true).open("/dev/full").expect("/dev/full")
}

/// `| head -1`: nobody's mistake.
#[test]
fn a_closed_pipe_is_no_error() {
    let tree = throttled_service();
    for args in [
        &["explain", "unit:web", "--for", "250ms"][..],
        &["explain", "unit:web", "--for", "250ms", "--format", "json"],
        &["top", "--once", "--for", "250ms"],
        &["doctor"],
        &["--help"],
    ] {
        let mut child = start(on(&tree, args));
        drop(child.stdout.take());
        let ran = finish(child);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
    }
}

#[test]
fn a_pipe_that_is_closed_after_a_line_is_no_error() {
    let tree = throttled_service();
    let mut child = start(on(&tree, &["explain", "unit:web", "--for", "250ms"]));
    let mut line = String::new();
    let out = child.stdout.take().expect("stdout");
    BufReader::new(out).read_line(&mut line).expect("a line");
    assert!(line.starts_with("NOT THROTTLED"), "{line}");
    let ran = finish(child);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

/// A result that was lost is never passed over in silence.
#[test]
fn a_full_disk_is_an_error_with_a_cause() {
    let tree = throttled_service();
    for args in [
        &["explain", "unit:web", "--for", "250ms"][..],
        &["top", "--once", "--for", "250ms"],
        &["doctor"],
    ] {
        let mut command = on(&tree, args);
        command.stdout(Stdio::from(full()));
        let ran = run(command);
        assert_eq!(ran.code, 2, "{args:?}: {}", ran.err);
        assert!(
            ran.err.contains("/dev/stdout") && ran.err.contains("No space left"),
            "{}",
            ran.err
        );
        assert!(ran.err.contains("\nhint: "), "{}", ran.err);
    }
}

#[test]
fn help_that_cannot_be_written_is_an_error() {
    let mut command = command(&["--help"]);
    command.stdout(Stdio::from(full()));
    let ran = run(command);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("No space left"), "{}", ran.err);
}

/// Talk goes to stderr; if that is full, so be it.
#[test]
fn a_full_stderr_changes_nothing() {
    let tree = FakeTree::v2();
    for (target, code) in [("cgroup:/", 0), ("nobody", 2)] {
        let mut command = on(&tree, &["explain", target, "--for", "250ms"]);
        command.stderr(Stdio::from(full()));
        assert_eq!(run(command).code, code, "{target}");
    }
}

/// Data on stdout, talk on stderr: JSON is never mixed with anything.
#[test]
fn json_is_all_there_is_on_stdout() {
    let args = ["explain", "unit:web", "--for", "2100ms", "--format", "json"];
    let ran = run(on(&throttled_service(), &args));
    serde_json::from_str::<serde_json::Value>(&ran.out).expect("JSON alone");
    assert_eq!(ran.err, "", "no progress bar where stderr is no terminal");
    assert!(ran.out.ends_with("}\n"));
}

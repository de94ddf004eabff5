//! Names that somebody chose to steer the terminal of who looks, or to break the table.

use textwrap::core::display_width;
use unthrottle_testkit::FakeTree;

use crate::support::{explain_through, json, on, run};

const NAMES: [&str; 9] = [
    "\u{1b}[2J\u{1b}[31mred",
    "\u{1b}]0;title\u{7}",
    "line\nbreak\rreturn\ttab",
    "\u{202e}gpj.exe\u{202c}",
    "\u{2066}isolated\u{2069}\u{200f}",
    "\u{9b}31mC1",
    "名前名前名前名前名前名前名前名前名前名前名前名前名前名前",
    "`; rm -rf $HOME; echo `",
    "🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀🚀",
];

#[track_caller]
fn harmless(text: &str) {
    for c in text.chars() {
        let steers = (c.is_control() && c != '\n')
            || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        assert!(!steers, "{c:?} in {text:?}");
    }
}

#[track_caller]
fn fits(text: &str) {
    for line in text.lines() {
        assert!(display_width(line) <= 100, "{} columns: {line}", display_width(line));
    }
}

fn tree() -> FakeTree {
    let tree = FakeTree::v2();
    for name in NAMES {
        tree.group(&format!("/{name}"), |group| group.quota(50_000, 100_000));
        tree.group(&format!("/{name}/{name}.service"), |group| group.quota(20_000, 100_000));
    }
    tree
}

#[test]
fn explain_shows_hostile_names_harmlessly() {
    let tree = tree();
    for name in NAMES {
        let path = format!("/{name}/{name}.service");
        let ran = explain_through(&tree, &format!("cgroup:{path}"), &["--for", "20ms"], |tree| {
            tree.group(&path, |group| group.stat(9, 8, 900_000_000).usage_ns(200_000_000));
            tree.group(&format!("/{name}"), |group| group.stat(9, 7, 800_000_000));
        });
        assert_eq!(ran.code, 0, "{}", ran.err);
        harmless(&ran.out);
        harmless(&ran.err);
        fits(&ran.out);
        assert!(ran.out.starts_with("THROTTLED"), "{}", ran.out);
    }
}

#[test]
fn top_and_doctor_show_hostile_names_harmlessly() {
    let tree = tree();
    tree.reader_in(&format!("/{}", NAMES[0]));
    for args in [&["top", "--once", "--for", "10ms"][..], &["doctor"]] {
        let ran = run(on(&tree, args));
        assert_eq!(ran.code, 0, "{}", ran.err);
        harmless(&ran.out);
        fits(&ran.out);
    }
    let table = run(on(&tree, &["top", "--once", "--for", "10ms"])).out;
    assert_eq!(table.lines().filter(|line| line.contains("idle")).count(), 2 * NAMES.len());
}

#[test]
fn json_keeps_names_as_they_are() {
    let tree = tree();
    for name in NAMES {
        let target = format!("cgroup:/{name}");
        let ran = run(on(&tree, &["explain", &target, "--for", "10ms", "--format", "json"]));
        assert!(!ran.out.contains(|c: char| c < ' ' && c != '\n'), "{:?}", ran.out);
        assert_eq!(json(&ran)["target"]["cgroup"], format!("/{name}"));
    }
}

#[test]
fn errors_show_hostile_names_harmlessly() {
    let tree = tree();
    for name in NAMES {
        tree.group(&format!("/other/{name}.service"), |group| group);
        for target in [
            format!("unit:{name}"),
            format!("cgroup:/nowhere/{name}"),
            format!("docker:{name}"),
            format!("{name}.service"),
            format!("kind{name}:x"),
        ] {
            let ran = run(on(&tree, &["explain", &target, "--for", "10ms"]));
            assert_eq!(ran.code, 2, "{target:?}: {}", ran.err);
            harmless(&ran.err);
        }
    }
}

/// Wrong values are repeated by the parser of the command line, too.
#[test]
fn wrong_values_are_repeated_harmlessly() {
    let tree = tree();
    for name in NAMES {
        for flag in ["--for", "--fail-on", "--format", "--requests", "--bogus"] {
            let ran = run(on(&tree, &["explain", "self", flag, name]));
            assert_eq!(ran.code, 2, "{flag}: {}", ran.err);
            harmless(&ran.err);
        }
    }
}

#[test]
fn very_long_and_very_deep_paths_fit() {
    let tree = FakeTree::v1_joined();
    let path: String = (0..12).map(|depth| format!("/{}{depth}", "level-".repeat(12))).collect();
    tree.group(&path, |group| group.quota(50_000, 100_000));
    let ran = explain_through(&tree, &format!("cgroup:{path}"), &["--for", "20ms"], |tree| {
        tree.group(&path, |group| group.stat(9, 8, 900_000_000).usage_ns(200_000_000));
    });
    assert_eq!(ran.code, 0, "{}", ran.err);
    fits(&ran.out);
    let ran = run(on(&tree, &["top", "--once", "--for", "10ms"]));
    fits(&ran.out);
}

/// Bytes that are no UTF-8: the group is seen, under a name that can be shown.
#[test]
fn names_that_are_no_text_are_shown_replaced() {
    use std::os::unix::ffi::OsStrExt as _;
    let tree = FakeTree::v2();
    tree.group("/odd", |group| group.quota(50_000, 100_000));
    let odd = std::ffi::OsStr::from_bytes(b"bad-\xff-name");
    let from = tree.directory("cpu", "/odd");
    std::fs::rename(&from, from.with_file_name(odd)).expect("renamed");
    let ran = run(on(&tree, &["top", "--once", "--for", "10ms"]));
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("bad-\u{fffd}-name"), "{}", ran.out);
}

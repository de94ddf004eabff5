//! Wrong usage: exit code 2, a sentence that names what is wrong, nothing on stdout.

use unthrottle_testkit::FakeTree;

use crate::support::{command, on, run};

const URL: &str = "http://127.0.0.1:1/";

/// Every flag, and what must not be accepted for it.
const WRONG: &[&[&str]] = &[
    &[],
    &["frob"],
    &["--bogus"],
    &["doctor", "extra"],
    &["doctor", "--format", "xml"],
    &["top", "extra"],
    &["top", "--for", "2"],
    &["top", "--for", "0s"],
    &["top", "--format", "csv"],
    &["explain"],
    &["explain", "self", "self"],
    &["explain", "self", "--bogus"],
    &["explain", "self", "--for", "30"],
    &["explain", "self", "--for", "-1s"],
    &["explain", "self", "--for", "1e9s"],
    &["explain", "self", "--for", "99999999999h"],
    &["explain", "self", "--format", "markdown"],
    &["explain", "self", "--fail-on", "slow"],
    &["explain", "self", "--fail-on", "throttle-rate=5"],
    &["explain", "self", "--fail-on", "throttle-rate=500%"],
    &["explain", "self", "--fail-on", "throttle-rate=NaN%"],
    &["explain", "self", "--fail-on", "p99=50"],
    &["explain", "self", "--requests"],
    &["explain", "pid:x"],
    &["explain", "pods:x"],
    &["explain", ""],
    &["explain", "docker:web"],
    &["lab"],
    &["lab", "frob"],
    &["lab", "serve", "--listen", "localhost"],
    &["lab", "serve", "--workers", "0"],
    &["lab", "serve", "--workers", "four"],
    &["lab", "serve", "--cost", "20"],
    &["lab", "serve", "--burn", "sleep"],
    &["lab", "serve", "--hashes", "-1"],
    &["lab", "serve", "--backlog", "x"],
    &["lab", "serve", "--limit", "0"],
    &["lab", "serve", "--limit", "none"],
    &["lab", "serve", "--period", "20ms"],
    &["lab", "serve", "--burst", "20ms"],
    &["lab", "load"],
    &["lab", "load", "127.0.0.1"],
    &["lab", "load", "https://127.0.0.1/"],
    &["lab", "load", URL, "--arrivals", "often"],
    &["lab", "load", URL, "--arrivals", "poisson:10"],
    &["lab", "load", URL, "--arrivals", "batch:0@1s"],
    &["lab", "load", URL, "--arrivals", "replay:/nonexistent/log"],
    &["lab", "load", URL, "--for", "soon"],
    &["lab", "load", URL, "--seed", "x"],
    &["lab", "load", URL, "--connections", "pool:0"],
    &["lab", "load", URL, "--timeout", "0s"],
    &["lab", "load", URL, "--header", "no-colon"],
    &["lab", "load", URL, "--requests", "/nonexistent/rows.csv"],
    &["lab", "load", URL, "--format", "csv"],
    &["lab", "clean", "extra"],
    &["demo", "--seed", "-1"],
    &["demo", "--for", "1"],
    &["demo", "--format", "html"],
];

#[test]
fn wrong_usage_ends_with_2_and_says_what_is_wrong() {
    let tree = FakeTree::v2();
    let mut told = String::new();
    for args in WRONG {
        // `lab` and `demo` take no `--root`; what is wrong is found before anything is done.
        let own = args.first().is_none_or(|first| ["lab", "demo"].contains(first));
        let ran = run(if own { command(args) } else { on(&tree, args) });
        assert_eq!(ran.code, 2, "{args:?}: {}{}", ran.out, ran.err);
        assert_eq!(ran.out, "", "{args:?} prints data");
        assert!(!ran.err.trim().is_empty(), "{args:?} says nothing");
        let first = ran.err.lines().next().unwrap_or_default();
        told += &format!("{}\n  {first}\n", args.join(" "));
    }
    insta::assert_snapshot!("wrong-usage", told);
}

#[test]
fn a_tree_is_for_reading_and_not_for_the_lab() {
    let tree = FakeTree::v2();
    for args in [&["lab", "clean"][..], &["demo"], &["lab", "serve"], &["lab", "load", URL]] {
        let ran = run(on(&tree, args));
        assert_eq!(ran.code, 2, "{args:?}");
        assert!(ran.err.contains("`--root`") && ran.err.contains("hint: "), "{}", ran.err);
    }
}

/// A target that looks like a flag is one after `--`.
#[test]
fn a_target_may_begin_with_a_dash() {
    let tree = FakeTree::v2();
    tree.group("/-odd", |group| group);
    let ran = run(on(&tree, &["explain", "--for", "1ms", "--", "-odd"]));
    assert_eq!(ran.code, 0, "{}", ran.err);
}

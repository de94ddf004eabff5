//! The help of every command, as it is printed.

use crate::support::{command, run};

#[track_caller]
fn help(args: &[&str]) -> String {
    let ran = run(command(args));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
    for line in ran.out.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    ran.out
}

#[test]
fn help_of_every_command() {
    for (name, args) in [
        ("unthrottle", vec!["--help"]),
        ("doctor", vec!["doctor", "--help"]),
        ("top", vec!["top", "--help"]),
        ("explain", vec!["explain", "--help"]),
        ("lab", vec!["lab", "--help"]),
        ("lab-serve", vec!["lab", "serve", "--help"]),
        ("lab-load", vec!["lab", "load", "--help"]),
        ("lab-clean", vec!["lab", "clean", "--help"]),
        ("demo", vec!["demo", "--help"]),
    ] {
        insta::assert_snapshot!(name, help(&args));
    }
}

#[test]
fn help_can_be_asked_for_in_every_way() {
    assert_eq!(help(&["help", "explain"]), help(&["explain", "--help"]));
    assert_eq!(help(&["lab", "help", "load"]), help(&["lab", "load", "--help"]));
}

#[test]
fn the_version_is_that_of_the_crate() {
    let ran = run(command(&["--version"]));
    assert_eq!(ran.out, format!("unthrottle {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(ran.code, 0);
}

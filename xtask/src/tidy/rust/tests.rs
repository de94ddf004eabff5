//! What each rule finds, and what it leaves alone.

use super::*;

fn found(path: &str, text: &str) -> Vec<String> {
    check(&File { path: path.into(), text: format!("//! Head.\n{text}") })
        .into_iter()
        .map(|violation| format!("{} {}", violation.line, violation.rule))
        .collect()
}

#[test]
fn a_file_begins_with_its_head() {
    let without = File { path: "a.rs".into(), text: "fn f() {}\n".into() };
    assert_eq!(check(&without)[0].rule, "module head");
    assert!(found("a.rs", "fn f() {}\n").is_empty());
}

#[test]
fn length_warns_then_fails() {
    let of = |lines: usize| File { path: "a.rs".into(), text: "//! x\n".repeat(lines) };
    assert!(long(&of(400)).is_none());
    assert!(long(&of(401)).is_some());
    assert!(check(&of(600)).is_empty());
    assert_eq!(check(&of(601))[0].rule, "file length");
}

#[test]
fn nothing_is_left_over() {
    for text in ["#[ignore]\nfn f() {}", "#[ignore = \"slow\"]\nfn f() {}", "fn f() { todo!() }"] {
        assert_eq!(found("a.rs", text), ["2 left over"], "{text}");
    }
    assert_eq!(found("a.rs", &format!("// {LEFT_OVER_WORD}: later")), ["2 left over"]);
    assert!(found("a.rs", "// a todo! in a comment\nlet x = \"todo!\";").is_empty());
}

#[test]
fn an_excuse_has_a_reason() {
    for text in [
        "#[allow(dead_code)]\nfn f() {}",
        "#![allow(dead_code)]",
        "#[expect(dead_code)]\nfn f() {}",
        "#[cfg_attr(test, allow(dead_code))]\nfn f() {}",
        "#[allow(\n    dead_code,\n)]\nfn f() {}",
    ] {
        assert_eq!(found("a.rs", text), ["2 excuse"], "{text}");
    }
    for text in [
        "#[expect(dead_code, reason = \"used by the other half\")]\nfn f() {}",
        "#[allow(\n    dead_code,\n    reason = \"why\",\n)]\nfn f() {}",
        "fn g() { value.expect(\"x\"); allow(1); }",
    ] {
        assert!(found("a.rs", text).is_empty(), "{text}");
    }
}

#[test]
fn a_pure_crate_touches_nothing_outside() {
    let pure = "crates/analysis/src/stats.rs";
    for text in [
        "fn f() { std::fs::read(p); }",
        "use std::net::TcpStream;",
        "use std::{fmt, fs};",
        "use std::{\n    env::var, fmt};",
        "fn f() { std::process::exit(1); }",
        "fn f() { let t = Instant::now(); }",
        "fn f() { let t = std::time::SystemTime::now(); }",
        "fn f() { println!(); }",
        "fn f() { eprintln!(); }",
        "fn f() { std::env::var(n); }",
    ] {
        let result = found(pure, text);
        assert_eq!(result.len(), 1, "{text}");
        assert!(result[0].ends_with("purity"), "{text}");
        assert!(found("crates/source/src/read.rs", text).is_empty(), "{text}");
        assert!(found("crates/analysis/src/stats/tests.rs", text).is_empty(), "{text}");
        let in_tests = format!("#[cfg(test)]\nmod tests {{\n{text}\n}}");
        assert!(found(pure, &in_tests).is_empty(), "{text}");
    }
    for text in [
        "// std::fs and Instant::now\n",
        "let s = \"println!\";",
        "use std::fmt;",
        "use std::{fmt, io::Write};",
        "fn f() { my_println!(); std::environment(); }",
    ] {
        assert!(found(pure, text).is_empty(), "{text}");
    }
}

#[test]
fn pure_crates_forbid_unsafe_and_share_one_list() {
    let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
    let good = "//! Head.\n#![forbid(unsafe_code)]\n";
    let rules = |files: &[File]| -> Vec<String> {
        check_pure_crates(files).into_iter().map(|violation| violation.path).collect()
    };
    assert!(rules(&[]).is_empty());
    assert!(
        rules(&[file("crates/model/src/lib.rs", good), file("crates/model/clippy.toml", "a")])
            .is_empty()
    );
    assert_eq!(
        rules(&[
            file("crates/model/src/lib.rs", "//! `#![forbid(unsafe_code)]` only said\n"),
            file("crates/model/clippy.toml", "a"),
        ]),
        ["crates/model/src/lib.rs"]
    );
    assert_eq!(
        rules(&[
            file("crates/model/src/lib.rs", good),
            file("crates/model/clippy.toml", "a"),
            file("crates/sim/src/lib.rs", good),
            file("crates/sim/clippy.toml", "b"),
            file("crates/report/src/lib.rs", good),
        ]),
        ["crates/sim/clippy.toml", "crates/report/clippy.toml"]
    );
}

//! Rules for Rust files: module heads, length, excuses, and what pure crates may not touch.

use super::{File, PURE, Violation, mask};

/// From here on a file is worth splitting.
const LONG: usize = 400;
/// From here on it must be.
const TOO_LONG: usize = 600;

/// What nobody may leave behind, in code.
const LEFT_OVER: &[(&str, &str)] = &[
    ("#[ignore", "make it run, or let `testkit::gate` say why it cannot"),
    ("todo!", "write it, or return an error that says what is missing"),
    ("unimplemented!", "write it, or return an error that says what is missing"),
];
/// What nobody may leave behind, in comments too. In halves, as this file is checked too.
const LEFT_OVER_WORD: &str = concat!("FIX", "ME");

/// Modules of the standard library that a pure crate does not touch.
const IMPURE_MODULES: &[(&str, &str)] = &[
    ("fs", "take or return bytes"),
    ("net", "take or return bytes"),
    ("process", "return an error or a plan"),
    ("env", "take options"),
];
/// Other paths that a pure crate does not touch.
const IMPURE_PATHS: &[(&str, &str)] = &[
    ("Instant::now", "take a time"),
    ("SystemTime::now", "take a time"),
    ("Timestamp::now", "take a time"),
    ("Zoned::now", "take a time"),
    ("println!", "return text"),
    ("eprintln!", "return text"),
    ("print!", "return text"),
    ("eprint!", "return text"),
    ("dbg!", "return text"),
];

/// Checks one Rust file.
pub fn check(file: &File) -> Vec<Violation> {
    let mut found = Found { path: &file.path, violations: Vec::new() };
    let code = mask::code(&file.text);
    if !file.text.starts_with("//!") {
        found.add(
            1,
            "module head",
            "begin the file with `//!`: its purpose and what failure means",
        );
    }
    let lines = file.text.lines().count();
    if lines > TOO_LONG {
        found.add(lines, "file length", &format!("{lines} lines, at most {TOO_LONG}: split it"));
    }
    for (word, advice) in LEFT_OVER {
        for at in words(&code, word) {
            found.add(line_of(&code, at), "left over", &format!("`{word}`: {advice}"));
        }
    }
    for (at, _) in file.text.match_indices(LEFT_OVER_WORD) {
        let message = format!("`{LEFT_OVER_WORD}`: do it, or open an issue and say what holds now");
        found.add(line_of(&file.text, at), "left over", &message);
    }
    for line in excuses_without_reason(&code) {
        let advice =
            "give a `reason = \"...\"`, and prefer `expect(...)`, which ends with its cause";
        found.add(line, "excuse", advice);
    }
    if is_pure(&file.path) {
        check_purity(&mask::without_tests(&code), &mut found);
    }
    found.violations
}

/// What to say about a file that is long but not yet too long.
pub fn long(file: &File) -> Option<String> {
    let lines = file.text.lines().count();
    (lines > LONG && lines <= TOO_LONG)
        .then(|| format!("{}: {lines} lines; split it before {TOO_LONG}", file.path))
}

/// What the pure crates have in common: `unsafe` forbidden, and one list of disallowed paths.
pub fn check_pure_crates(files: &[File]) -> Vec<Violation> {
    let text_of = |path: &str| files.iter().find(|file| file.path == path).map(|file| &file.text);
    let mut violations = Vec::new();
    let mut first: Option<(String, &String)> = None;
    for name in PURE {
        let lib = format!("crates/{name}/src/lib.rs");
        // A crate that is not there yet breaks nothing.
        let Some(text) = text_of(&lib) else { continue };
        if !mask::code(text).contains("#![forbid(unsafe_code)]") {
            let message = "a pure crate: add `#![forbid(unsafe_code)]`".to_owned();
            violations.push(Violation { path: lib, line: 1, rule: "purity", message });
        }
        let lints = format!("crates/{name}/clippy.toml");
        let wrong = match (text_of(&lints), &first) {
            (None, _) => Some("a pure crate: copy `crates/model/clippy.toml`".to_owned()),
            (Some(text), Some((path, other))) if text != *other => {
                Some(format!("differs from `{path}`: keep the lists the same"))
            }
            (Some(text), _) => {
                first.get_or_insert((lints.clone(), text));
                None
            }
        };
        violations.extend(wrong.map(|message| Violation {
            path: lints,
            line: 1,
            rule: "purity",
            message,
        }));
    }
    violations
}

struct Found<'a> {
    path: &'a str,
    violations: Vec<Violation>,
}

impl Found<'_> {
    fn add(&mut self, line: usize, rule: &'static str, message: &str) {
        let (path, message) = (self.path.to_owned(), message.to_owned());
        self.violations.push(Violation { path, line, rule, message });
    }
}

/// Non-test source of a pure crate.
fn is_pure(path: &str) -> bool {
    let in_a_pure_crate = PURE.iter().any(|name| path.starts_with(&format!("crates/{name}/src/")));
    let of_tests = path.ends_with("/tests.rs") || path.ends_with("_tests.rs");
    in_a_pure_crate && !of_tests && !path.contains("/tests/")
}

fn check_purity(code: &str, found: &mut Found<'_>) {
    for (module, advice) in IMPURE_MODULES {
        let path = format!("std::{module}");
        for at in words(code, &path) {
            let message = format!("`{path}` in a pure crate: {advice}");
            found.add(line_of(code, at), "purity", &message);
        }
    }
    // `use std::{fs, io}` names a module without its path.
    for (start, opening) in code.match_indices("std::{") {
        let group = &code[start + opening.len()..];
        let group = &group[..group.find(';').unwrap_or(group.len())];
        for (module, advice) in IMPURE_MODULES {
            for at in words(group, module) {
                let message = format!("`std::{module}` in a pure crate: {advice}");
                let line = line_of(code, start + opening.len() + at);
                found.add(line, "purity", &message);
            }
        }
    }
    for (path, advice) in IMPURE_PATHS {
        for at in words(code, path) {
            let message = format!("`{path}` in a pure crate: {advice}");
            found.add(line_of(code, at), "purity", &message);
        }
    }
}

/// Where `word` occurs in `code` as a whole word: `println!` is not found in `eprintln!`.
fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let inside = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let open_ended = !word.ends_with(char::is_alphanumeric);
    code.match_indices(word).map(|(at, _)| at).filter(move |at| {
        let before = code[..*at].chars().next_back();
        let after = code[at + word.len()..].chars().next();
        !inside(before) && (open_ended || !inside(after))
    })
}

/// Lines of `allow(...)` and `expect(...)` attributes that give no reason.
fn excuses_without_reason(code: &str) -> Vec<usize> {
    let mut lines = Vec::new();
    for (start, _) in code.match_indices("#[").chain(code.match_indices("#![")) {
        let attribute = &code[start..];
        let attribute = &attribute[..attribute.find(']').unwrap_or(attribute.len())];
        let excuse =
            ["allow(", "expect("].iter().any(|word| words(attribute, word).next().is_some());
        if excuse && words(attribute, "reason").next().is_none() {
            lines.push(line_of(code, start));
        }
    }
    lines
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

#[cfg(test)]
mod tests;

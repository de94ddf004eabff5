//! House rules that neither the compiler nor clippy checks.
//!
//! Crate edges, purity, file length, module heads, excuses, and text that belongs to one machine
//! only. Every violation names file, line, rule and what to do; one is enough to fail.

mod edges;
mod mask;
mod rust;
mod text;

use std::fmt;
use std::path::{Path, PathBuf};

/// Directories that are made, not written.
const MADE: &[&str] = &[".git", "target", "out", "node_modules", "dist", ".venv", "__pycache__"];

/// The crates that open no file, read no clock, print nothing and use no `unsafe`.
const PURE: &[&str] = &["model", "analysis", "sim", "report"];

/// One broken rule at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Violation {
    /// From the top of the checkout.
    path: String,
    /// From 1.
    line: usize,
    rule: &'static str,
    /// What is there, and what to do.
    message: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, rule, message } = self;
        write!(f, "{path}:{line}: {rule}: {message}")
    }
}

/// A text file of the checkout.
struct File {
    /// From the top of the checkout, with `/`.
    path: String,
    text: String,
}

/// Checks the checkout at `root` and prints what is wrong; `false` if anything is.
pub fn run(root: &Path) -> bool {
    let mut paths = Vec::new();
    let mut files = Vec::new();
    if let Err(error) = walk(root, &mut paths) {
        eprintln!("tidy: cannot list {}: {error}", root.display());
        return false;
    }
    paths.sort();
    for path in &paths {
        // What is not text (images, archives) has no line to complain about.
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        let shown = path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
        files.push(File { path: shown, text });
    }
    let mut violations = Vec::new();
    for file in &files {
        violations.extend(text::check(file));
        if file.path.ends_with(".rs") {
            violations.extend(rust::check(file));
            if let Some(warning) = rust::long(file) {
                eprintln!("warning: {warning}");
            }
        }
    }
    violations.extend(rust::check_pure_crates(&files));
    match edges::check(root) {
        Ok(found) => violations.extend(found),
        Err(message) => {
            eprintln!("tidy: {message}");
            return false;
        }
    }
    for violation in &violations {
        eprintln!("{violation}");
    }
    println!("tidy: {} files, {} violations", files.len(), violations.len());
    violations.is_empty()
}

fn walk(directory: &Path, paths: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if !MADE.contains(&name.as_ref()) && !name.ends_with(".rec") {
                walk(&entry.path(), paths)?;
            }
        } else if kind.is_file() {
            paths.push(entry.path());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_reads_as_compilers_write_it() {
        let violation = Violation {
            path: "crates/sim/src/lib.rs".into(),
            line: 7,
            rule: "purity",
            message: "`std::fs` in a pure crate: take bytes".into(),
        };
        assert_eq!(
            violation.to_string(),
            "crates/sim/src/lib.rs:7: purity: `std::fs` in a pure crate: take bytes"
        );
    }

    #[test]
    fn made_directories_are_not_walked() {
        let top = std::env::temp_dir().join(format!("unthrottle-tidy-{}", std::process::id()));
        for path in ["a.rs", "target/b.rs", "x.rec/meta.json", "sub/c.md"] {
            let path = top.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let mut paths = Vec::new();
        walk(&top, &mut paths).unwrap();
        std::fs::remove_dir_all(&top).unwrap();
        paths.sort();
        let names: Vec<_> = paths.iter().map(|path| path.strip_prefix(&top).unwrap()).collect();
        assert_eq!(names, [Path::new("a.rs"), Path::new("sub/c.md")]);
    }
}

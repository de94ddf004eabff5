//! Which crate may depend on which: the whole table, and nothing beside it.
//!
//! Asked of `cargo metadata`, so that renames and inheritance are resolved. Dev-dependencies are
//! free, except that `testkit` may be nothing else.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::Violation;

/// What the directory names stand for in package names.
const PREFIX: &str = "unthrottle-";

/// Crate, and the crates of this workspace that it may depend on.
///
/// Data flows one way: sources, recording, analysis, report; everything is joined in `unthrottle`.
const EDGES: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("source", &["model"]),
    ("recording", &["model"]),
    ("analysis", &["model"]),
    ("sim", &["model"]),
    ("lab", &["model", "source"]),
    ("report", &["analysis", "sim"]),
    ("serve", &["report"]),
    ("unthrottle", &["model", "source", "recording", "analysis", "sim", "lab", "report", "serve"]),
    ("testkit", &["model", "source", "recording", "analysis", "sim", "lab", "report", "serve"]),
    ("xtask", &["unthrottle"]),
];

/// Checks the workspace at `root`.
///
/// # Errors
/// A text that says why cargo could not be asked.
pub fn check(root: &Path) -> Result<Vec<Violation>, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cannot start `cargo metadata`: {error}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`cargo metadata` failed: {}", said.trim()));
    }
    let metadata = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("cannot read what `cargo metadata` said: {error}"))?;
    Ok(judge(&metadata, |manifest| {
        let text = std::fs::read_to_string(manifest).unwrap_or_default();
        let path = Path::new(manifest);
        (path.strip_prefix(root).unwrap_or(path).display().to_string(), text)
    }))
}

/// Judges what cargo said; `manifest` gives the shown path and the text of a manifest.
fn judge(metadata: &Value, manifest: impl Fn(&str) -> (String, String)) -> Vec<Violation> {
    let mut violations = Vec::new();
    let packages = metadata["packages"].as_array().map_or(&[][..], Vec::as_slice);
    let ours: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let (path, text) = manifest(package["manifest_path"].as_str().unwrap_or_default());
        let mut broken = |word: &str, message: String| {
            let line = text.lines().position(|line| names(line, word)).map_or(1, |at| at + 1);
            violations.push(Violation { path: path.clone(), line, rule: "crate edge", message });
        };
        let Some((_, allowed)) = EDGES.iter().find(|(known, _)| *known == short(name)) else {
            let place = "xtask/src/tidy/edges.rs";
            broken(name, format!("`{name}` is not in the table: add it to {place}, with a reason"));
            continue;
        };
        let dependencies = package["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
        for dependency in dependencies {
            let target = dependency["name"].as_str().unwrap_or_default();
            if !ours.contains(&target) || dependency["kind"] == "dev" {
                continue;
            }
            if short(target) == "testkit" {
                broken(target, "`testkit` is for tests: move it to [dev-dependencies]".to_owned());
            } else if !allowed.contains(&short(target)) {
                let allowed =
                    if allowed.is_empty() { "nothing".into() } else { allowed.join(", ") };
                let (from, to) = (short(name), short(target));
                let message = format!(
                    "`{from}` must not depend on `{to}` (allowed: {allowed}): join them in `unthrottle`"
                );
                broken(target, message);
            }
        }
    }
    violations
}

fn short(name: &str) -> &str {
    name.strip_prefix(PREFIX).unwrap_or(name)
}

/// Whether a line of a manifest is about `word`: `word = ...`, `word.workspace = true`, or its name.
fn names(line: &str, word: &str) -> bool {
    let rest = line.trim_start().strip_prefix(word);
    rest.is_some_and(|rest| rest.starts_with([' ', '.', '=']))
        || line == format!("name = \"{word}\"")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// A name, and the names and kinds of what it depends on.
    type Package<'a> = (&'a str, &'a [(&'a str, Option<&'a str>)]);

    /// What is said about a workspace of `packages`: name, and dependencies with their kind.
    fn said(packages: &[Package<'_>]) -> Vec<String> {
        let packages: Vec<Value> = packages
            .iter()
            .map(|(name, dependencies)| {
                let dependencies: Vec<Value> = dependencies
                    .iter()
                    .map(|(name, kind)| json!({ "name": name, "kind": kind }))
                    .collect();
                json!({ "name": name, "manifest_path": name, "dependencies": dependencies })
            })
            .collect();
        let text = "[package]\nname = \"x\"\n\n[dependencies]\nunthrottle-model.workspace = true\n";
        judge(&json!({ "packages": packages }), |path| (path.to_owned(), text.to_owned()))
            .into_iter()
            .map(|violation| violation.to_string())
            .collect()
    }

    const MODEL: Package<'_> = ("unthrottle-model", &[]);

    #[test]
    fn the_edges_of_the_house_are_fine() {
        assert!(said(&[MODEL, ("unthrottle-source", &[("unthrottle-model", None)])]).is_empty());
        assert!(said(&[("unthrottle", &[]), ("xtask", &[("unthrottle", None)])]).is_empty());
        assert!(said(&[MODEL, ("unthrottle-testkit", &[("unthrottle-model", None)])]).is_empty());
    }

    #[test]
    fn another_edge_is_named_with_its_line() {
        assert_eq!(
            said(&[MODEL, ("unthrottle-report", &[("unthrottle-model", None)])]),
            ["unthrottle-report:5: crate edge: `report` must not depend on `model` \
                 (allowed: analysis, sim): join them in `unthrottle`"]
        );
        assert_eq!(said(&[MODEL, ("xtask", &[("unthrottle-model", None)])]).len(), 1);
        assert_eq!(
            said(&[("unthrottle", &[]), ("unthrottle-testkit", &[("unthrottle", None)])]).len(),
            1
        );
        assert_eq!(
            said(&[MODEL, ("unthrottle-report", &[("unthrottle-model", Some("build"))])]).len(),
            1
        );
    }

    #[test]
    fn dev_dependencies_are_free_and_testkit_is_nothing_else() {
        let testkit = ("unthrottle-testkit", &[][..]);
        let with = |kind| said(&[testkit, ("unthrottle-lab", &[("unthrottle-testkit", kind)])]);
        assert!(with(Some("dev")).is_empty());
        assert_eq!(with(None).len(), 1);
        assert!(
            said(&[("unthrottle", &[]), ("unthrottle-source", &[("unthrottle", Some("dev"))])])
                .is_empty()
        );
    }

    #[test]
    fn a_crate_that_is_not_in_the_table_is_refused() {
        assert!(said(&[("unthrottle-extras", &[])])[0].contains("not in the table"));
        assert!(said(&[("unthrottle-model", &[("serde", None)])]).is_empty());
    }
}

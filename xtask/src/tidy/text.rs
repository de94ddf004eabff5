//! Rules for every text file: nothing in it belongs to one machine or one mirror.

use super::{File, Violation};

/// Written in halves, as this file is checked too.
const MACHINE_PATHS: &[&str] = &[concat!("/wo", "rk/")];

/// Hosts that lock files and settings pick up from the machine they were made on.
const HOSTS: &[&str] = &[
    concat!("registry.", "npmjs.org"),
    concat!("registry.", "yarnpkg.com"),
    concat!("files.", "pythonhosted.org"),
    concat!("static.", "crates.io"),
    concat!("index.", "crates.io"),
    concat!("proxy.", "golang.org"),
    concat!("artifact", "ory"),
];

/// What `Cargo.lock` may name: cargo's word for the public registry, whatever mirror was used.
const CARGO_SOURCE: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks one file.
pub fn check(file: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut broken = |line: usize, rule, message| {
        violations.push(Violation { path: file.path.clone(), line, rule, message });
    };
    let lock = file.path.ends_with("Cargo.lock");
    for (number, line) in file.text.lines().enumerate().map(|(at, line)| (at + 1, line)) {
        for path in MACHINE_PATHS {
            if has_absolute(line, path) {
                broken(
                    number,
                    "machine path",
                    format!("`{path}`: write it from the checkout's top"),
                );
            }
        }
        for host in HOSTS {
            if line.contains(host) {
                broken(number, "registry host", format!("`{host}`: leave the host to the tool"));
            }
        }
        if let Some(source) = line.strip_prefix("source = \"").filter(|_| lock)
            && source.trim_end_matches('"') != CARGO_SOURCE
        {
            broken(number, "registry host", format!("`{line}`: only crates.io may be locked"));
        }
    }
    violations
}

/// Whether `path` occurs in `line` as the beginning of an absolute path.
fn has_absolute(line: &str, path: &str) -> bool {
    line.match_indices(path).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-/~*})".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<&'static str> {
        let file = File { path: path.into(), text: text.into() };
        check(&file).into_iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn a_path_of_one_machine_is_found_and_a_relative_one_is_not() {
        let path = MACHINE_PATHS[0];
        assert_eq!(rules("a.md", &format!("see {path}main")), ["machine path"]);
        assert_eq!(rules("a.sh", &format!("cd \"{path}main\"")), ["machine path"]);
        assert!(rules("a.md", &format!("see notes{path}main")).is_empty());
        assert!(rules("a.md", &format!("$HOME/..{path}main")).is_empty());
    }

    #[test]
    fn the_line_is_counted_from_one() {
        let text = format!("one\ntwo\n{}x", MACHINE_PATHS[0]);
        let found = check(&File { path: "a".into(), text });
        assert_eq!(found[0].line, 3);
    }

    #[test]
    fn a_registry_host_is_found() {
        let text = format!("\"resolved\": \"https://{}/uplot\"", HOSTS[0]);
        assert_eq!(rules("web/package-lock.json", &text), ["registry host"]);
    }

    #[test]
    fn a_lock_file_names_the_public_registry_only() {
        let good = format!("source = \"{CARGO_SOURCE}\"\n");
        assert!(rules("Cargo.lock", &good).is_empty());
        let mirror = "source = \"registry+https://mirror.example/index\"\n";
        assert_eq!(rules("Cargo.lock", mirror), ["registry host"]);
        assert!(rules("notes.toml", mirror).is_empty());
    }
}

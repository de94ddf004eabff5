//! Rules for lock files: nothing in them belongs to one machine or one mirror.

use super::{File, Violation};

/// Checks one file.
pub fn check(file: &File) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut broken = |line: usize, message: String| {
        let path = file.path.clone();
        violations.push(Violation { path, line, rule: "registry host", message });
    };
    let lines = || file.text.lines().enumerate().map(|(at, line)| (at + 1, line));
    if file.path.ends_with("Cargo.lock") {
        let source = |line: &str| line.strip_prefix("source = ").map(str::to_owned);
        let first = file.text.lines().find_map(source);
        for (number, line) in lines() {
            // One registry for all, and no repository: the lock of a mirror or a fork shows here.
            let other = source(line)
                .filter(|each| each.starts_with("\"git+") || Some(each) != first.as_ref());
            if let Some(other) = other {
                broken(number, format!("{other}: only the one public registry may be locked"));
            }
        }
    }
    if file.path.ends_with("package-lock.json") {
        for (number, line) in lines().filter(|(_, line)| line.contains("\"resolved\": \"http")) {
            broken(number, format!("`{}`: leave the host to the tool", line.trim()));
        }
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(path: &str, text: &str) -> usize {
        check(&File { path: path.into(), text: text.into() }).len()
    }

    #[test]
    fn a_resolved_address_is_found() {
        let text = "  \"resolved\": \"https://mirror.example/uplot\",\n";
        assert_eq!(count("web/package-lock.json", text), 1);
        assert_eq!(count("web/package.json", text), 0);
    }

    #[test]
    fn a_lock_file_has_one_registry_and_no_repository() {
        let one = "source = \"registry+https://one.example/index\"\n";
        let other = "source = \"registry+https://mirror.example/index\"\n";
        let fork = "source = \"git+https://fork.example/x\"\n";
        assert_eq!(count("Cargo.lock", &one.repeat(2)), 0);
        assert_eq!(count("Cargo.lock", &format!("{one}{other}")), 1);
        assert_eq!(count("Cargo.lock", fork), 1);
        assert_eq!(count("notes.md", &format!("{one}{other}")), 0);
    }
}

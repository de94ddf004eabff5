//! v1 with cpuset on the same mount: a new group has no CPUs and no memory nodes there.
//!
//! The kernel takes no process into such a group (`ENOSPC`), so it gets its parent's. v2 groups
//! have what their parent has by themselves: there nothing may be written.

use std::io;
use std::path::Path;

use super::tree::Tree;

/// Gives `group` the CPUs and memory nodes of `parent` where it has none of its own. Does nothing
/// on a mount without cpuset, and on one that copies by itself (`cgroup.clone_children`).
pub(super) fn inherit(tree: &dyn Tree, parent: &Path, group: &Path) -> io::Result<()> {
    for name in ["cpuset.cpus", "cpuset.mems"] {
        let file = group.join(name);
        match tree.read(&file) {
            Ok(own) if own.trim().is_empty() => {
                let above = tree.read(&parent.join(name))?;
                tree.write(&file, above.trim())?;
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::tree::Kernel;
    use super::*;

    fn check(parent: &[(&str, &str)], group: &[(&str, &str)], expected: &[&str]) {
        let dir = tempfile::tempdir().expect("makes");
        let below = dir.path().join("g");
        std::fs::create_dir(&below).expect("makes");
        let fill = |dir: &Path, files: &[(&str, &str)]| {
            for (name, text) in files {
                std::fs::write(dir.join(name), text).expect("writes");
            }
        };
        fill(dir.path(), parent);
        fill(&below, group);
        inherit(&Kernel, dir.path(), &below).expect("inherits");
        let now: Vec<String> = group
            .iter()
            .map(|(name, _)| std::fs::read_to_string(below.join(name)).expect("reads"))
            .collect();
        assert_eq!(now, expected);
        assert_eq!(std::fs::read_dir(&below).expect("reads").count(), group.len());
    }

    #[test]
    fn only_what_is_empty_is_filled() {
        let parent = [("cpuset.cpus", "0-3\n"), ("cpuset.mems", "0\n")];
        check(&parent, &[("cpuset.cpus", "\n"), ("cpuset.mems", "\n")], &["0-3", "0"]);
        check(&parent, &[("cpuset.cpus", "1\n"), ("cpuset.mems", "\n")], &["1\n", "0"]);
        check(&[], &[], &[]);
    }

    #[test]
    fn a_parent_without_its_file_is_an_error() {
        let dir = tempfile::tempdir().expect("makes");
        std::fs::write(dir.path().join("cpuset.cpus"), "\n").expect("writes");
        let nowhere = dir.path().join("parent");
        let error = inherit(&Kernel, &nowhere, dir.path()).expect_err("nothing to copy");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}

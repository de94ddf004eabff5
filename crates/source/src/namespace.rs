//! Seeing through a cgroup namespace.
//!
//! Inside of one, the kernel writes paths relative to the namespace's own root: `/proc/PID/cgroup`
//! says `/` or `/../sibling`, and a mount of the host's hierarchy has a root of `/../..`. The names
//! on the way down to our own root are nowhere written. But where the host's hierarchy is mounted,
//! we can look for ourselves in it: then every path can be given in full. That is how an agent with
//! the host's /sys sees all levels.
//!
//! Failure: where we cannot be found (no such mount, files that may not be read), paths stay as the
//! kernel writes them, and what lies outside is an error of its own.

use std::path::Path;

use crate::cgroup::parse::pids;
use crate::mounts::{CgroupFs, Mount};
use crate::process;
use crate::read;
use crate::scan;

/// Names from the root of the widest mount down to the root of this process' namespace; `None` if
/// no mount shows more than the namespace, or we were not found there.
#[must_use]
pub fn root_names(fs: &CgroupFs) -> Option<Vec<String>> {
    let (climb, mount) = fs
        .cpu_mounts()
        .into_iter()
        .filter_map(|mount| Some((climb(mount)?, mount)))
        .max_by_key(|(climb, _)| *climb)?;
    let lines = process::memberships(&fs.root, "self").ok()?;
    let own = names(process::path_for(&lines, fs.hierarchy, "cpu")?)?;
    let pid = std::process::id();
    let (path, _) = scan::below(fs, mount).into_iter().find(|(_, dir)| holds(dir, pid))?;
    let found = names(path.get(mount.root.len()..)?)?;
    let root = found.strip_suffix(own.as_slice())?.to_vec();
    (root.len() == climb).then_some(root)
}

/// How many levels above our namespace's root a mount begins, if it begins above at all.
#[must_use]
pub fn climb(mount: &Mount) -> Option<usize> {
    let parts: Vec<&str> = mount.root.split('/').filter(|part| !part.is_empty()).collect();
    (!parts.is_empty() && parts.iter().all(|part| *part == "..")).then_some(parts.len())
}

/// Parts of a path without `..`.
fn names(path: &str) -> Option<Vec<String>> {
    let parts: Vec<String> =
        path.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    (!parts.iter().any(|part| part == "..")).then_some(parts)
}

fn holds(dir: &Path, pid: u32) -> bool {
    read::try_text(&dir.join("cgroup.procs")).is_ok_and(|text| pids(&text).contains(&pid))
}

/// A path as the kernel writes it inside of the namespace, in full. A path that climbs above the
/// widest mount is left as it is.
#[must_use]
pub fn full_path(root_names: &[String], path: &str) -> String {
    let mut parts: Vec<&str> = root_names.iter().map(String::as_str).collect();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        if part != ".." {
            parts.push(part);
        } else if parts.pop().is_none() {
            return path.to_owned();
        }
    }
    format!("/{}", parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::full_path;

    #[test]
    fn paths_in_full() {
        let root = ["docker".to_owned(), "abc".to_owned()];
        for (inside, full) in [
            ("/", "/docker/abc"),
            ("/init", "/docker/abc/init"),
            ("/..", "/docker"),
            ("/../..", "/"),
            ("/../def", "/docker/def"),
            ("/../../system.slice", "/system.slice"),
            ("/../../../x", "/../../../x"),
        ] {
            assert_eq!(full_path(&root, inside), full, "{inside}");
        }
    }
}

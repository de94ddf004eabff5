//! Walks a hierarchy: every group below a mount.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};

use crate::mounts::{CgroupFs, Mount};
use crate::namespace::climb;

/// Deeper than any runtime nests; a cap against loops in saved trees.
const MAX_DEPTH: usize = 40;

/// Every group of the cpu hierarchy that is visible here: hierarchy path and directory, parents
/// before children, in order of names.
#[must_use]
pub fn groups(fs: &CgroupFs) -> Vec<(String, PathBuf)> {
    // The mount that shows the most has the shortest root, or one that climbs out of the reader's
    // namespace; one that another mount hides shows nothing.
    let mut mounts = fs.cpu_mounts();
    mounts.sort_by_key(|mount| {
        let there = fs.root.join(&mount.point).is_dir();
        (!there, Reverse(climb(mount)), mount.root.len())
    });
    mounts.first().map_or_else(Vec::new, |mount| below(fs, mount))
}

/// Every group below one mount.
#[must_use]
pub fn below(fs: &CgroupFs, mount: &Mount) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let root = mount.root.trim_end_matches('/').to_owned();
    walk(&root, &fs.root.join(&mount.point), 0, &mut found);
    found
}

/// Every group below the one at `path` and `dir`, without that one.
#[must_use]
pub fn under(path: &str, dir: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    walk(path.trim_end_matches('/'), dir, 0, &mut found);
    found.remove(0);
    found
}

fn walk(path: &str, dir: &Path, depth: usize, found: &mut Vec<(String, PathBuf)>) {
    let shown = if path.is_empty() { "/" } else { path };
    found.push((shown.to_owned(), dir.to_owned()));
    if depth >= MAX_DEPTH {
        return;
    }
    // A group may be removed while we walk: then there is nothing below it.
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    let mut names: Vec<_> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.file_name())
        .collect();
    names.sort_unstable();
    for name in names {
        walk(&format!("{path}/{}", name.to_string_lossy()), &dir.join(&name), depth + 1, found);
    }
}

//! The cgroup mounts of the machine the tests run on.

use std::path::{Path, PathBuf};

/// One mounted hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hierarchy {
    pub(crate) point: PathBuf,
    /// v1's controllers and options; empty on v2.
    pub(crate) options: String,
}

impl Hierarchy {
    /// Whether this is v1's hierarchy of `controller`.
    pub(crate) fn has(&self, controller: &str) -> bool {
        self.options.split(',').any(|option| option == controller)
    }
}

/// All mounted hierarchies, v1 and v2; none where the mount table cannot be read.
pub(crate) fn mounted() -> Vec<Hierarchy> {
    parse(&std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

fn parse(mountinfo: &str) -> Vec<Hierarchy> {
    let of_line = |line: &str| {
        let (mount, kind) = line.split_once(" - ")?;
        let point = PathBuf::from(mount.split(' ').nth(4)?);
        let mut kind = kind.split(' ');
        match kind.next()? {
            "cgroup" => Some(Hierarchy { point, options: kind.nth(1)?.to_owned() }),
            "cgroup2" => Some(Hierarchy { point, options: String::new() }),
            _ => None,
        }
    };
    mountinfo.lines().filter_map(of_line).collect()
}

/// Removes the group at `directory` and the groups below it, leaves first; what is busy stays.
pub(crate) fn remove_groups(directory: &Path) -> std::io::Result<()> {
    if !directory.exists() {
        return Ok(());
    }
    for entry in std::fs::read_dir(directory)?.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_groups(&entry.path())?;
        }
    }
    std::fs::remove_dir(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hierarchies_are_found_by_their_file_system() {
        let found = parse(
            "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:1 - cgroup cgroup rw,cpu,cpuacct\n\
             33 31 0:30 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n\
             22 1 8:1 / / rw - ext4 /dev/sda1 rw,cpu\n\
             broken line\n",
        );
        let points: Vec<_> = found.iter().map(|h| h.point.display().to_string()).collect();
        assert_eq!(points, ["/sys/fs/cgroup/cpu,cpuacct", "/sys/fs/cgroup/unified"]);
        assert!(found[0].has("cpu") && found[0].has("cpuacct") && !found[0].has("cpuset"));
        assert!(!found[1].has("cpu"));
    }
}

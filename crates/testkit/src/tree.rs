//! A made-up machine: the files of its /proc and /sys below a temporary directory, for `--root`.
//!
//! Files are rewritten in place, never replaced, so that a reader that keeps a descriptor open sees
//! the new contents, as it does in the kernel's file systems.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use tempfile::TempDir;

use crate::group::{Group, GroupFile};
use crate::must;

/// Where which controller is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    V1Split,
    V1Joined,
    V2,
    Hybrid,
}

/// A tree that is removed when it is dropped.
///
/// Every method that adds something returns the tree again, so that calls can follow each other.
/// Called a second time, between two reads, for the same group, [`FakeTree::group`] changes what is
/// described and keeps the rest.
#[derive(Debug)]
pub struct FakeTree {
    directory: TempDir,
    layout: Layout,
    groups: Mutex<BTreeMap<String, Group>>,
}

impl FakeTree {
    /// cgroup v1, `cpu` and `cpuacct` mounted apart.
    #[must_use]
    pub fn v1_split() -> Self {
        Self::new(Layout::V1Split)
    }

    /// cgroup v1, `cpu,cpuacct` mounted together, as distributions with systemd did.
    #[must_use]
    pub fn v1_joined() -> Self {
        Self::new(Layout::V1Joined)
    }

    /// cgroup v2 alone.
    #[must_use]
    pub fn v2() -> Self {
        Self::new(Layout::V2)
    }

    /// cgroup v1 with `cpu,cpuacct` together, and a v2 mount without controllers beside it.
    #[must_use]
    pub fn hybrid() -> Self {
        Self::new(Layout::Hybrid)
    }

    fn new(layout: Layout) -> Self {
        let directory = tempfile::Builder::new().prefix("unthrottle-tree-").tempdir();
        let directory = must(directory, &"cannot make a temporary directory");
        let tree = Self { directory, layout, groups: Mutex::default() };
        tree.mountinfo(layout.mountinfo())
            .file("proc/self/cgroup", &layout.membership("/"))
            .file("proc/self/status", "Name:\tfake\nPid:\t1000\nCpus_allowed_list:\t0-3\n")
            .file("proc/sys/kernel/osrelease", "6.8.0-fake\n")
            .file("proc/stat", "cpu  100 0 50 10000 10 0 5 0 0 0\n")
            .file("proc/loadavg", "0.10 0.20 0.30 1/100 1000\n")
            .file("proc/uptime", "1000.00 3900.00\n");
        for name in ["online", "possible", "present"] {
            tree.file(&format!("sys/devices/system/cpu/{name}"), "0-3\n");
        }
        tree.group("/", |group| group.cpuset("0-3"));
        tree
    }

    /// What to give to `--root`.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.directory.path()
    }

    /// Adds or changes the group at `path` of its hierarchy; parents that were not described are
    /// made unlimited and idle.
    pub fn group(&self, path: &str, describe: impl FnOnce(Group) -> Group) -> &Self {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        let path = path.trim_matches('/');
        // The cpuset that holds where none is set is that of the nearest parent with one.
        let mut cpus = String::new();
        let mut above = String::new();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if !groups.contains_key(&above) {
                self.write_group(&above, &Group::default(), &cpus);
            }
            let parent = groups.entry(above.clone()).or_default();
            if !parent.cpus().is_empty() {
                parent.cpus().clone_into(&mut cpus);
            }
            if !above.is_empty() {
                above.push('/');
            }
            above.push_str(name);
        }
        let group = describe(groups.remove(path).unwrap_or_default());
        self.write_group(path, &group, &cpus);
        groups.insert(path.to_owned(), group);
        self
    }

    /// Removes a group and everything below it, as `rmdir` from the leaves up would.
    pub fn remove_group(&self, path: &str) -> &Self {
        let path = path.trim_matches('/');
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        groups.retain(|known, _| known != path && !known.starts_with(&format!("{path}/")));
        for mount in self.layout.mounts() {
            let directory = self.root().join(mount).join(path);
            if directory.exists() {
                must(fs::remove_dir_all(&directory), &directory.display());
            }
        }
        self
    }

    /// Adds a process: its lines of /proc/PID/cgroup, and its name.
    pub fn process(&self, pid: u32, cgroup_lines: &[&str], comm: &str) -> &Self {
        self.write_process(pid, &(cgroup_lines.join("\n") + "\n"), comm)
    }

    /// Adds a process that is in the group `path` of every hierarchy of this machine.
    pub fn process_in(&self, pid: u32, path: &str, comm: &str) -> &Self {
        self.write_process(pid, &self.layout.membership(path), comm)
    }

    /// Says in which group of every hierarchy the reader itself is.
    pub fn reader_in(&self, path: &str) -> &Self {
        let membership = self.layout.membership(path);
        self.file("proc/self/cgroup", &membership)
    }

    fn write_process(&self, pid: u32, cgroup: &str, comm: &str) -> &Self {
        let own = format!("proc/{pid}");
        let stat = format!("{pid} ({comm}) S 1 {pid} {pid} 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 100\n");
        let status = format!("Name:\t{comm}\nTgid:\t{pid}\nPid:\t{pid}\nCpus_allowed_list:\t0-3\n");
        for directory in [own.clone(), format!("{own}/task/{pid}")] {
            self.file(&format!("{directory}/cgroup"), cgroup)
                .file(&format!("{directory}/comm"), &format!("{comm}\n"))
                .file(&format!("{directory}/stat"), &stat)
                .file(&format!("{directory}/status"), &status)
                .file(&format!("{directory}/schedstat"), "0 0 0\n");
        }
        self.file(&format!("{own}/cmdline"), &format!("{comm}\0"))
    }

    /// Replaces the reader's mount table, for machines that mount elsewhere.
    pub fn mountinfo(&self, text: &str) -> &Self {
        self.file("proc/self/mountinfo", text)
    }

    /// Writes one file; `path` begins with `proc/` or `sys/`.
    pub fn file(&self, path: &str, text: &str) -> &Self {
        let path = self.root().join(path.trim_start_matches('/'));
        must(write_in_place(&path, text), &path.display());
        self
    }

    /// Removes one file, as a kernel without it would not have it.
    pub fn remove(&self, path: &str) -> &Self {
        let path = self.root().join(path.trim_start_matches('/'));
        must(fs::remove_file(&path), &path.display());
        self
    }

    /// The directory of a group in the hierarchy of `controller` (any on v2).
    #[must_use]
    pub fn directory(&self, controller: &str, path: &str) -> PathBuf {
        self.root().join(self.layout.mount_of(controller)).join(path.trim_matches('/'))
    }

    fn write_group(&self, path: &str, group: &Group, cpus_above: &str) {
        let files: Vec<GroupFile> = match self.layout {
            Layout::V2 => group.v2_files(path.is_empty(), cpus_above),
            _ => group.v1_files(cpus_above),
        };
        for (controller, name, text) in files {
            let file = self.directory(controller, path).join(name);
            must(write_in_place(&file, &text), &file.display());
        }
    }
}

/// Longer or shorter, the file stays the same inode and is never empty in between.
fn write_in_place(path: &Path, text: &str) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    file.write_all(text.as_bytes())?;
    file.set_len(text.len() as u64)
}

impl Layout {
    fn mount_of(self, controller: &str) -> &'static str {
        match (self, controller) {
            (Self::V2, _) => "sys/fs/cgroup",
            (_, "cpuset") => "sys/fs/cgroup/cpuset",
            (Self::V1Split, "cpuacct") => "sys/fs/cgroup/cpuacct",
            (Self::V1Split, _) => "sys/fs/cgroup/cpu",
            (Self::V1Joined | Self::Hybrid, _) => "sys/fs/cgroup/cpu,cpuacct",
        }
    }

    fn mounts(self) -> Vec<&'static str> {
        ["cpu", "cpuacct", "cpuset"].map(|controller| self.mount_of(controller)).into()
    }

    /// /proc/PID/cgroup of a process that is in `path` everywhere.
    fn membership(self, path: &str) -> String {
        let ids: &[&str] = match self {
            Self::V1Split => &["3:cpuset", "2:cpuacct", "1:cpu"],
            Self::V1Joined => &["4:cpu,cpuacct", "3:cpuset", "1:name=systemd"],
            Self::V2 => &["0:"],
            Self::Hybrid => &["4:cpu,cpuacct", "3:cpuset", "1:name=systemd", "0:"],
        };
        ids.iter().map(|id| format!("{id}:{path}\n")).collect()
    }

    fn mountinfo(self) -> &'static str {
        match self {
            Self::V1Split => {
                "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:5 - proc proc rw
24 22 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:6 - sysfs sysfs rw
31 24 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu
33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
"
            }
            Self::V1Joined => {
                "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:5 - proc proc rw
24 22 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:6 - sysfs sysfs rw
31 24 0:28 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:9 - tmpfs tmpfs ro,mode=755
32 31 0:29 / /sys/fs/cgroup/systemd rw,nosuid,nodev,noexec,relatime shared:10 - cgroup cgroup rw,xattr,name=systemd
35 31 0:32 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid,nodev,noexec,relatime shared:13 - cgroup cgroup rw,cpu,cpuacct
36 31 0:33 / /sys/fs/cgroup/cpuset rw,nosuid,nodev,noexec,relatime shared:14 - cgroup cgroup rw,cpuset
"
            }
            Self::V2 => {
                "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:5 - proc proc rw
24 22 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:6 - sysfs sysfs rw
31 24 0:28 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
"
            }
            Self::Hybrid => {
                "\
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
23 22 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:5 - proc proc rw
24 22 0:22 / /sys rw,nosuid,nodev,noexec,relatime shared:6 - sysfs sysfs rw
31 24 0:28 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:9 - tmpfs tmpfs ro,mode=755
32 31 0:29 / /sys/fs/cgroup/unified rw,nosuid,nodev,noexec,relatime shared:10 - cgroup2 cgroup2 rw,nsdelegate
33 31 0:30 / /sys/fs/cgroup/systemd rw,nosuid,nodev,noexec,relatime shared:11 - cgroup cgroup rw,xattr,name=systemd
35 31 0:32 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid,nodev,noexec,relatime shared:13 - cgroup cgroup rw,cpu,cpuacct
36 31 0:33 / /sys/fs/cgroup/cpuset rw,nosuid,nodev,noexec,relatime shared:14 - cgroup cgroup rw,cpuset
"
            }
        }
    }
}

#[cfg(test)]
mod tests;

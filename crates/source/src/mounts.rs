//! Where cgroup hierarchies are mounted, and which directory a hierarchy path is.
//!
//! Only /proc/PID/mountinfo is believed: not /sys/fs/cgroup by habit, not /proc/cgroups (it loses
//! rows on kernels without v1), not the name of a directory. Which version counts is decided per
//! controller, so hybrid hosts need no case of their own.

use std::path::{Path, PathBuf};

use unthrottle_model::rows::Hierarchy;

use crate::error::SourceError;
use crate::namespace;
use crate::process;
use crate::read;
use crate::root::Root;

/// One cgroup mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where it is, as the machine says (not below `--root`).
    pub point: PathBuf,
    /// Which group of the hierarchy is mounted there, relative to the reader's cgroup namespace.
    pub root: String,
    /// v1 or v2.
    pub version: Version,
}

/// Version of one mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Version {
    /// With its controllers, `name=systemd` for a named hierarchy.
    V1(Vec<String>),
    /// The unified hierarchy.
    V2,
}

impl Mount {
    fn has(&self, controller: &str) -> bool {
        match &self.version {
            Version::V1(controllers) => controllers.iter().any(|each| each == controller),
            Version::V2 => false,
        }
    }
}

/// Reads a mount table. Lines that are no cgroup mounts, or make no sense, are left out.
///
/// Any number of optional fields may stand before the ` - `; the type is the first word after it
/// (the first word of the line's source is free text and says nothing).
#[must_use]
pub fn parse(text: &str) -> Vec<Mount> {
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut fields = before.split(' ').skip(3);
    let (root, point) = (fields.next()?, fields.next()?);
    let mut after = after.split(' ');
    let (kind, _source, options) = (after.next()?, after.next()?, after.next().unwrap_or(""));
    let version = match kind {
        "cgroup2" => Version::V2,
        "cgroup" => Version::V1(options.split(',').map(str::to_owned).collect()),
        _ => return None,
    };
    Some(Mount { point: PathBuf::from(unescape(point)), root: unescape(root), version })
}

/// `\040` and its like, as the kernel writes blanks and backslashes in mount tables.
fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let raw = text.as_bytes();
    let mut at = 0;
    while at < raw.len() {
        let octal = raw
            .get(at + 1..at + 4)
            .filter(|_| raw[at] == b'\\')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match octal {
            Some(byte) => {
                bytes.push(byte);
                at += 4;
            }
            None => {
                bytes.push(raw[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A group found on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Located {
    /// Its directory, below `--root`.
    pub dir: PathBuf,
    /// The mount it is seen through.
    pub mount: Mount,
    /// Names from the mount's root down to it; empty for the root itself.
    pub names: Vec<String>,
}

impl Located {
    /// Every level from the mount's root to the group: depth, hierarchy path, directory.
    #[must_use]
    pub fn levels(&self, root: &Root) -> Vec<(u32, String, PathBuf)> {
        let mut path = self.mount.root.trim_end_matches('/').to_owned();
        let mut dir = root.join(&self.mount.point);
        let show = |path: &str| if path.is_empty() { "/".to_owned() } else { path.to_owned() };
        let mut levels = vec![(0, show(&path), dir.clone())];
        for (index, name) in self.names.iter().enumerate() {
            path.push('/');
            path.push_str(name);
            dir.push(name);
            levels.push((index as u32 + 1, show(&path), dir.clone()));
        }
        levels
    }
}

/// The mounts of one machine, sorted by what they are for.
#[derive(Debug, Clone)]
pub struct CgroupFs {
    /// Below which root the directories are.
    pub root: Root,
    /// All cgroup mounts.
    pub mounts: Vec<Mount>,
    /// Which hierarchy carries the cpu controller.
    pub hierarchy: Hierarchy,
    /// The mount table that was read.
    pub mountinfo: PathBuf,
    /// Way to the root of our own cgroup namespace, where a mount shows it.
    namespace: Option<Vec<String>>,
}

impl CgroupFs {
    /// Reads the mount table and finds the hierarchy that carries the cpu controller.
    ///
    /// # Errors
    /// If the table cannot be read, or no mount can carry the controller.
    pub fn discover(root: &Root) -> Result<Self, SourceError> {
        let mountinfo = root.proc(root.mounts_of()).join("mountinfo");
        let mounts = parse(&read::text(&mountinfo)?);
        // A v1 hierarchy that carries the controller takes it away from v2.
        let hierarchy = if mounts.iter().any(|mount| mount.has("cpu")) {
            Hierarchy::V1Cpu
        } else if mounts.iter().any(|mount| mount.version == Version::V2)
            && !on_hidden_v1(root, &mounts)
        {
            Hierarchy::V2
        } else {
            return Err(SourceError::NoCpuController { mountinfo });
        };
        let mut fs = Self { root: root.clone(), mounts, hierarchy, mountinfo, namespace: None };
        if root.live() {
            fs.namespace = namespace::root_names(&fs);
        }
        if let Some(names) = &fs.namespace {
            for mount in &mut fs.mounts {
                mount.root = namespace::full_path(names, &mount.root);
            }
        }
        Ok(fs)
    }

    /// A path as the kernel writes it for a process, in full where that can be known.
    #[must_use]
    pub fn full_path(&self, path: &str) -> String {
        match &self.namespace {
            Some(names) => namespace::full_path(names, path),
            None => path.to_owned(),
        }
    }

    /// Whether there are levels above the root of the mount that a group is seen through.
    #[must_use]
    pub fn levels_hidden(&self, located: &Located) -> bool {
        use std::os::unix::fs::MetadataExt;
        let top = self.root.join(&located.mount.point);
        if self.root.live() {
            // The root of every kernfs has inode 1 (kernfs_create_root, fs/kernfs/dir.c).
            return std::fs::metadata(&top).map_or(true, |meta| meta.ino() != 1);
        }
        // In saved files inodes mean nothing; only the real root of v2 has no cgroup.type.
        let is_v2 = located.mount.version == Version::V2;
        located.mount.root != "/" || (is_v2 && top.join("cgroup.type").exists())
    }

    /// The mounts of a v1 controller, or those of v2.
    pub fn of<'a>(&'a self, controller: Option<&'a str>) -> impl Iterator<Item = &'a Mount> {
        self.mounts.iter().filter(move |mount| match controller {
            Some(controller) => mount.has(controller),
            None => mount.version == Version::V2,
        })
    }

    /// The mounts of the hierarchy that carries the cpu controller.
    #[must_use]
    pub fn cpu_mounts(&self) -> Vec<&Mount> {
        match self.hierarchy {
            Hierarchy::V1Cpu => self.of(Some("cpu")).collect(),
            Hierarchy::V2 => self.of(None).collect(),
        }
    }

    /// Finds a group of the cpu hierarchy by its hierarchy path.
    ///
    /// # Errors
    /// If no mount shows that path, or nothing stands there.
    pub fn locate(&self, path: &str) -> Result<Located, SourceError> {
        let mounts = self.cpu_mounts();
        let located = self.locate_in(&mounts, path).ok_or_else(|| SourceError::Outside {
            path: path.to_owned(),
            hierarchy: self.hierarchy.word(),
            mount_root: mounts.first().map_or_else(String::new, |mount| mount.root.clone()),
        })?;
        if located.dir.is_dir() {
            Ok(located)
        } else {
            Err(SourceError::NoGroup {
                path: path.to_owned(),
                hierarchy: self.hierarchy.word(),
                dir: located.dir,
            })
        }
    }

    /// The same path in another v1 hierarchy (`cpuacct`, `cpuset`), if it stands there.
    #[must_use]
    pub fn twin(&self, controller: &str, path: &str) -> Option<PathBuf> {
        let mounts: Vec<&Mount> = self.of(Some(controller)).collect();
        self.locate_in(&mounts, path).map(|found| found.dir).filter(|dir| dir.is_dir())
    }

    /// Of all mounts that show the path, the one that shows the most levels; one that is really
    /// there before one that is not (a later mount may hide an earlier one).
    fn locate_in(&self, mounts: &[&Mount], path: &str) -> Option<Located> {
        let mut found: Vec<Located> = mounts
            .iter()
            .filter_map(|mount| {
                let names = below(&mount.root, path)?;
                let mut dir = self.root.join(&mount.point);
                dir.extend(&names);
                Some(Located { dir, mount: (*mount).clone(), names })
            })
            .collect();
        found.sort_by_key(|each| (!each.dir.is_dir(), std::cmp::Reverse(each.names.len())));
        found.into_iter().next()
    }

    /// The hierarchy path of a directory below any cgroup mount.
    ///
    /// A directory of another hierarchy (cpuacct, systemd, unified) stands for the same path in the
    /// cpu hierarchy: that is what people copy from a shell.
    #[must_use]
    pub fn path_of_dir(&self, dir: &Path) -> Option<String> {
        let dir = self.root.strip(dir).unwrap_or_else(|| dir.to_owned());
        self.mounts
            .iter()
            .filter_map(|mount| dir.strip_prefix(&mount.point).ok().map(|rest| (mount, rest)))
            .min_by_key(|(_, rest)| rest.as_os_str().len())
            .map(|(mount, rest)| {
                let joined = Path::new(&mount.root).join(rest);
                joined.to_string_lossy().trim_end_matches('/').to_owned()
            })
            .map(|path| if path.is_empty() { "/".to_owned() } else { path })
    }
}

/// Whether the controller is in a v1 hierarchy that this mount namespace does not show: the kernel
/// says so for this very process, and v2 does not have the controller.
fn on_hidden_v1(root: &Root, mounts: &[Mount]) -> bool {
    let on_v1 = process::memberships(root, "self")
        .is_ok_and(|lines| process::path_for(&lines, Hierarchy::V1Cpu, "cpu").is_some());
    let v2_lacks_it = mounts.iter().filter(|mount| mount.version == Version::V2).all(|mount| {
        read::try_text(&root.join(&mount.point).join("cgroup.controllers"))
            .is_ok_and(|text| !text.split_ascii_whitespace().any(|word| word == "cpu"))
    });
    on_v1 && v2_lacks_it
}

/// Names from `root` down to `path`; `None` if the path is not below it.
///
/// Both are relative to the reader's cgroup namespace and may begin with `/..`. Below a root of
/// `/..` the names between it and the namespace's own root are unknown, so only paths that spell
/// out the same climb can be followed.
fn below(root: &str, path: &str) -> Option<Vec<String>> {
    let parts = |text: &str| -> Vec<String> {
        text.split('/').filter(|part| !part.is_empty() && *part != ".").map(str::to_owned).collect()
    };
    let (root, path) = (parts(root), parts(path));
    let rest = path.strip_prefix(root.as_slice())?;
    (!rest.iter().any(|part| part == "..")).then(|| rest.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(line: &str) -> Mount {
        parse(line).pop().expect("a cgroup mount")
    }

    #[test]
    fn optional_fields_do_not_matter() {
        let plain = one("33 24 0:25 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu");
        let many =
            one("33 24 0:25 / /sys/fs/cgroup/cpu rw shared:9 master:3 - cgroup cgroup rw,cpu");
        assert_eq!(plain, many);
        assert!(plain.has("cpu"));
    }

    #[test]
    fn controllers_are_whole_words() {
        let mount = one("4 1 0:2 / /c rw - cgroup none rw,cpuset,cpuacct");
        assert!(!mount.has("cpu"));
        let mount = one("4 1 0:2 / /c rw - cgroup none rw,cpuset,cpu,cpuacct");
        assert!(mount.has("cpu"));
    }

    #[test]
    fn the_type_decides_not_the_source() {
        assert_eq!(one("4 1 0:2 / /c rw - cgroup2 none rw,nsdelegate").version, Version::V2);
        assert!(parse("4 1 0:2 / /c rw - tmpfs cgroup2 rw").is_empty());
        assert!(parse("junk\n1 2 3 -\n - cgroup2\n").is_empty());
    }

    #[test]
    fn blanks_are_escaped() {
        assert_eq!(one(r"4 1 0:2 / /my\040mount rw - cgroup2 c rw").point, Path::new("/my mount"));
    }

    #[test]
    fn below_a_mount_root() {
        let names = |list: &[&str]| Some(list.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>());
        assert_eq!(below("/", "/a/b"), names(&["a", "b"]));
        assert_eq!(below("/docker/x", "/docker/x"), names(&[]));
        assert_eq!(below("/docker/x", "/docker/x/init"), names(&["init"]));
        assert_eq!(below("/docker/x", "/docker/y"), None);
        assert_eq!(below("/../..", "/../../other"), names(&["other"]));
        assert_eq!(below("/../..", "/"), None);
        assert_eq!(below("/", "/../sibling"), None);
    }
}

//! Where this process is in the hierarchy that carries the cpu controller.

use std::path::PathBuf;

use unthrottle_model::rows::Hierarchy;
use unthrottle_source::mounts::{CgroupFs, Version};
use unthrottle_source::process::{memberships, path_for};
use unthrottle_source::root::Root;

use super::error::PlacementError;

/// Directories of the group below which a workload's group would be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Which hierarchy carries the cpu controller.
    pub hierarchy: Hierarchy,
    /// This process' own group.
    pub cpu_dir: PathBuf,
    /// Its hierarchy path.
    pub path: String,
    /// v1 with cpuacct mounted apart: where the twin is made, by which usage can be read.
    pub cpuacct_dir: Option<PathBuf>,
    /// The mount it is seen through. The next best place on v2.
    pub mount_dir: PathBuf,
    /// Hierarchy path of the mount's root.
    pub mount_path: String,
}

impl Place {
    /// The place of the calling process. A group that no mount shows (a container with the host's
    /// paths) is replaced by the mount's root.
    ///
    /// # Errors
    /// If no mount carries the cpu controller, or /proc cannot be read.
    pub fn current() -> Result<Self, PlacementError> {
        let fs = CgroupFs::discover(&Root::machine())?;
        let memberships = memberships(&fs.root, "self")?;
        // In a cgroup namespace below the host's mount every path says `/`, which there is another
        // group: limits above this process would not hold.
        let own = |controller: &str| {
            path_for(&memberships, fs.hierarchy, controller).map(|path| fs.full_path(path))
        };
        let mounts = fs.cpu_mounts();
        // `discover` succeeded, so there is a mount.
        let first = mounts.first().map_or("/", |mount| mount.root.as_str());
        let located = match own("cpu").map(|path| fs.locate(&path)) {
            Some(Ok(located)) => located,
            _ => fs.locate(first)?,
        };
        let levels = located.levels(&fs.root);
        let level = |level: Option<&(u32, String, PathBuf)>| {
            level.map_or_else(
                || (located.mount.root.clone(), located.dir.clone()),
                |(_, path, dir)| (path.clone(), dir.clone()),
            )
        };
        let (path, cpu_dir) = level(levels.last());
        let (mount_path, mount_dir) = level(levels.first());
        let together = match &located.mount.version {
            Version::V1(controllers) => controllers.iter().any(|each| each == "cpuacct"),
            Version::V2 => true,
        };
        let cpuacct_dir = if together {
            None
        } else {
            // The same path first: readers look for usage there.
            fs.twin("cpuacct", &path)
                .or_else(|| own("cpuacct").and_then(|path| fs.twin("cpuacct", &path)))
        };
        Ok(Self { hierarchy: fs.hierarchy, cpu_dir, path, cpuacct_dir, mount_dir, mount_path })
    }
}

/// Hierarchy path of a child.
pub(super) fn child_path(parent: &str, name: &str) -> String {
    format!("{}/{name}", parent.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_children() {
        assert_eq!(child_path("/", "a"), "/a");
        assert_eq!(child_path("/docker/x", "a"), "/docker/x/a");
    }

    #[test]
    fn here() {
        let place = Place::current().expect("this machine has a cpu controller");
        assert!(place.cpu_dir.starts_with(&place.mount_dir), "{place:?}");
        assert!(place.cpu_dir.join("cgroup.procs").exists(), "{place:?}");
        if let Some(cpuacct) = &place.cpuacct_dir {
            assert!(cpuacct.join("cpuacct.usage").exists(), "{place:?}");
        }
    }
}

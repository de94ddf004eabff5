//! The CPUs that a group may run on.

use std::path::Path;

use unthrottle_model::cpuset::count_cpus;
use unthrottle_model::rows::{CpusetRow, Hierarchy};

use super::parse::pids;
use crate::clock::monotonic_ns;
use crate::mounts::CgroupFs;
use crate::process;
use crate::read::{self, Kept};

/// The effective cpuset of one group, its file kept open.
#[derive(Debug)]
pub struct Cpuset {
    path: String,
    file: Kept,
    buffer: Vec<u8>,
    last: Option<String>,
}

impl Cpuset {
    /// The cpuset of the group at `dir`; `None` where none can be told.
    ///
    /// On v1 the cpuset hierarchy is another one: a process of the group says where it is there,
    /// without one the same path is tried. On v2 the nearest level with the controller decides. Which
    /// of them has the cpusets is not the cpu controller's business.
    #[must_use]
    pub fn open(fs: &CgroupFs, path: &str, dir: &Path) -> Option<Self> {
        let v1 = || {
            let path = member_path(fs, dir).unwrap_or_else(|| path.to_owned());
            let dir = fs.twin("cpuset", &path)?;
            let file = Kept::open(&dir.join("cpuset.effective_cpus"))
                .or_else(|| Kept::open(&dir.join("cpuset.cpus")))?;
            Some(Self::new(path, file))
        };
        v1().or_else(|| (fs.hierarchy == Hierarchy::V2).then(|| Self::nearest(path, dir))?)
    }

    fn nearest(path: &str, dir: &Path) -> Option<Self> {
        let (mut path, mut dir) = (path.to_owned(), dir.to_owned());
        loop {
            if let Some(file) = Kept::open(&dir.join("cpuset.cpus.effective")) {
                return Some(Self::new(path, file));
            }
            if path == "/" || !dir.pop() {
                return None;
            }
            path = path.rsplit_once('/').map_or("/", |(up, _)| up).to_owned();
            if path.is_empty() {
                "/".clone_into(&mut path);
            }
        }
    }

    fn new(path: String, file: Kept) -> Self {
        Self { path, file, buffer: Vec::with_capacity(256), last: None }
    }

    /// A row if the set is new or has changed since the last call.
    pub fn read(&mut self) -> Option<CpusetRow> {
        let list = self.file.read(&mut self.buffer).ok()?.trim().to_owned();
        if self.last.as_ref() == Some(&list) {
            return None;
        }
        self.last = Some(list.clone());
        let cpus = count_cpus(&list).filter(|count| *count > 0)?;
        Some(CpusetRow { time_ns: monotonic_ns(), path: self.path.clone(), list, cpus })
    }
}

fn member_path(fs: &CgroupFs, dir: &Path) -> Option<String> {
    let procs = read::try_text(&dir.join("cgroup.procs")).ok()?;
    let pid = *pids(&procs).first()?;
    let lines = process::memberships(&fs.root, &pid.to_string()).ok()?;
    process::path_for(&lines, Hierarchy::V1Cpu, "cpuset").map(|path| fs.full_path(path))
}

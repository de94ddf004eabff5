//! The guard: one quota group, and everything that has to be taken back.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::fs::{Mode, OFlags};
use unthrottle_model::Quota;
use unthrottle_model::rows::Hierarchy;

use super::clean::{self, CleanReport};
use super::cpuset;
use super::error::{Attempt, PlacementError, Unsuitable};
use super::kill::{self, Ended};
use super::limit;
use super::name::GroupName;
use super::place::{Place, child_path};
use super::process::Process;
use super::spec::{GroupSpec, Weight, check};
use super::tree::{Kernel, Tree, remove_group, subtree};
use super::unified;

/// How long a workload may take to end by itself.
const GRACE: Duration = Duration::from_secs(1);

/// A group below the current one, its children, and the way back.
///
/// Dropping it removes everything, like [`Guard::remove`], but has nobody to tell if that fails;
/// the next guard or `unthrottle lab clean` tries again.
#[derive(Debug)]
pub struct Guard {
    hierarchy: Hierarchy,
    path: String,
    cpu: PathBuf,
    twin: Option<PathBuf>,
    /// v2: the parent, which may have to be put back as it was.
    base: Option<PathBuf>,
    children: Vec<Process>,
    notes: Vec<String>,
    cleaned: Vec<PathBuf>,
    done: bool,
}

/// Directories of a guard's group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    /// Where its limit and `cpu.stat` are.
    pub cpu: PathBuf,
    /// v1: where `cpuacct.usage` is, which may be the same directory; `None` if it could not be
    /// had, and on v2.
    pub cpuacct: Option<PathBuf>,
}

/// What was taken back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    /// Directories of groups, in the order of their removal.
    pub groups: Vec<PathBuf>,
    /// Processes that were still inside.
    pub processes: usize,
    /// Of those, how many had to be killed.
    pub killed: usize,
}

impl Guard {
    /// Makes a group below the current one and sets its limit and weight. Stale groups of ours in
    /// the same place are removed first. On v2 this may move the processes of the current group,
    /// this one included, into a leaf until the guard is removed (module `unified`).
    ///
    /// # Errors
    /// For a limit that the kernel would refuse (nothing is written then), without permission, or
    /// if a file of the group refuses its value.
    pub fn create(place: &Place, spec: &GroupSpec) -> Result<Self, PlacementError> {
        check(spec.limit.as_ref())?;
        let mut guard = match place.hierarchy {
            Hierarchy::V1Cpu => Self::make_v1(place)?,
            Hierarchy::V2 => Self::make_v2(place)?,
        };
        // From here on an early return removes what was made.
        limit::set(&Kernel, guard.hierarchy, &guard.cpu, spec.limit.as_ref())?;
        if spec.weight == Weight::High {
            guard.weigh();
        }
        Ok(guard)
    }

    fn new(hierarchy: Hierarchy, path: String, cpu: PathBuf) -> Self {
        Self {
            hierarchy,
            path,
            cpu,
            twin: None,
            base: None,
            children: Vec::new(),
            notes: Vec::new(),
            cleaned: Vec::new(),
            done: false,
        }
    }

    fn make_v1(place: &Place) -> Result<Self, PlacementError> {
        let mut report = CleanReport::default();
        for parent in std::iter::once(&place.cpu_dir).chain(&place.cpuacct_dir) {
            clean::children(parent, &mut report)?;
        }
        let refused =
            |source| PlacementError::no_place(place.cpu_dir.clone(), "make a group", source);
        let (name, cpu) = make(&place.cpu_dir).map_err(refused)?;
        let mut guard = Self::new(place.hierarchy, child_path(&place.path, &name.to_string()), cpu);
        guard.note_report(&report);
        cpuset::inherit(&Kernel, &place.cpu_dir, &guard.cpu).map_err(|source| {
            PlacementError::no_place(place.cpu_dir.clone(), "give a group its CPUs", source)
        })?;
        if let Some(parent) = &place.cpuacct_dir {
            let twin = parent.join(name.to_string());
            if let Err(error) = guard.make_twin(parent, &twin) {
                guard.notes.push(format!(
                    "no group `{}`, so CPU use is less exact: {error}",
                    twin.display()
                ));
            }
        }
        Ok(guard)
    }

    fn make_twin(&mut self, parent: &Path, twin: &Path) -> io::Result<()> {
        Kernel.make(twin)?;
        let usable = cpuset::inherit(&Kernel, parent, twin);
        if usable.is_ok() {
            self.twin = Some(twin.to_owned());
        } else {
            // Empty, so nothing keeps it; what is reported is why it was of no use.
            let _reported_instead = Kernel.remove(twin);
        }
        usable
    }

    fn make_v2(place: &Place) -> Result<Self, PlacementError> {
        let mut tried = Vec::new();
        for unified::Candidate { dir, path } in unified::candidates(place) {
            match Self::make_below(&dir, &path) {
                Ok(guard) => return Ok(guard),
                Err(reason) => tried.push(Attempt { dir, reason }),
            }
        }
        Err(PlacementError::NoPlace { tried })
    }

    fn make_below(base: &Path, path: &str) -> Result<Self, Unsuitable> {
        let refused = |step| move |source| Unsuitable::Refused { step, source };
        let _locked = Kernel.lock(base).map_err(refused("lock it"))?;
        let mut report = CleanReport::default();
        if clean::children(base, &mut report).is_ok() {
            // Otherwise the leaf of a killed run would be taken for somebody's arrangement.
            match unified::settle(&Kernel, base) {
                Ok(leaves) => report.removed.extend(leaves),
                Err(error) => report.failed.push((base.to_owned(), error.to_string())),
            }
        }
        let strategy = unified::plan(unified::facts(&Kernel, base)?)?;
        let name = GroupName::fresh().map_err(refused("read `/proc/self`"))?;
        unified::prepare(&Kernel, base, strategy, name)?;
        let made = make(base);
        if made.is_err() {
            let _reported_instead = unified::settle(&Kernel, base);
        }
        let (name, cpu) = made.map_err(refused("make a group"))?;
        let mut guard = Self::new(Hierarchy::V2, child_path(path, &name.to_string()), cpu);
        guard.base = Some(base.to_owned());
        guard.note_report(&report);
        Ok(guard)
    }

    fn note_report(&mut self, report: &CleanReport) {
        self.cleaned.extend(report.removed.iter().cloned());
        for (group, why) in &report.failed {
            self.notes.push(format!("cannot remove the stale group `{}`: {why}", group.display()));
        }
    }

    fn weigh(&mut self) {
        // v1: near the kernel's maximum of 262144. Neither touches the quota.
        let (file, value) = match self.hierarchy {
            Hierarchy::V1Cpu => ("cpu.shares", "200000"),
            Hierarchy::V2 => ("cpu.weight", "10000"),
        };
        let file = self.cpu.join(file);
        if let Err(error) = Kernel.write(&file, value) {
            self.notes.push(format!(
                "no high weight, so other load on this machine may delay the workload: cannot \
                 write `{}`: {error}",
                file.display()
            ));
        }
    }

    /// Changes the limit; `None` = unlimited. The kernel gives the group a fresh budget and ends a
    /// stop in progress, unless the limit is the same as before.
    ///
    /// # Errors
    /// As for [`Guard::create`]; the old limit may be changed in part then.
    pub fn set_limit(&self, limit: Option<Quota>) -> Result<(), PlacementError> {
        limit::set(&Kernel, self.hierarchy, &self.cpu, limit.as_ref())
    }

    /// Where the group's files are.
    #[must_use]
    pub fn dirs(&self) -> Dirs {
        let together = self.cpu.join("cpuacct.usage").exists().then(|| self.cpu.clone());
        Dirs { cpu: self.cpu.clone(), cpuacct: self.twin.clone().or(together) }
    }

    /// Hierarchy path of the group, as in `/proc/PID/cgroup`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What could not be had or was found on the way, as sentences for the user.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Stale groups in the same place that were removed first: left by runs that were killed.
    #[must_use]
    pub fn cleaned(&self) -> &[PathBuf] {
        &self.cleaned
    }

    /// Starts a program inside the group: it is moved in between fork and exec, so nothing of it
    /// runs outside. It gets default signal actions and the normal scheduling policy.
    ///
    /// The kernel kills it when the calling *thread* ends (`PR_SET_PDEATHSIG`), so call this from a
    /// thread that lives as long as the workload should. Its own children are not covered by that:
    /// after a SIGKILL of this program they run on until the group is cleaned.
    ///
    /// # Errors
    /// If the program cannot be started or the group refuses it.
    pub fn spawn(&mut self, command: Command) -> Result<Process, PlacementError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let failed = |source| PlacementError::Spawn { program, group: self.cpu.clone(), source };
        let process = self.entrances().and_then(|list| Process::start(command, list));
        let process = process.map_err(failed)?;
        self.children.push(process.clone());
        Ok(process)
    }

    /// The group with the quota last: once inside, the child may be stopped at any moment.
    fn entrances(&self) -> io::Result<Vec<OwnedFd>> {
        let open = |group: &PathBuf| {
            let flags = OFlags::WRONLY | OFlags::CLOEXEC;
            rustix::fs::open(group.join("cgroup.procs"), flags, Mode::empty())
        };
        Ok(self.twin.iter().chain([&self.cpu]).map(open).collect::<Result<_, _>>()?)
    }

    /// Ends everything inside (SIGTERM, after 1 s SIGKILL), removes the group and groups below it,
    /// and puts the parent back as it was.
    ///
    /// # Errors
    /// If a process does not die or a directory cannot be removed. What could be removed, is.
    pub fn remove(mut self) -> Result<Removed, PlacementError> {
        self.take_back()
    }

    fn take_back(&mut self) -> Result<Removed, PlacementError> {
        self.done = true;
        let groups: Vec<PathBuf> = std::iter::once(&self.cpu).chain(&self.twin).cloned().collect();
        // A process that is stopped by its quota cannot end.
        limit::lift(&Kernel, &self.cpu);
        let children = &self.children;
        let ended = kill::end(&groups, GRACE, &mut || {
            for child in children {
                let _shows_later = child.try_wait();
            }
        });
        // A child that went to another group by itself is still ours.
        self.children.iter().for_each(Process::kill);
        self.children.clear();
        let Ended { found, killed } = ended?;
        let mut removed = Removed { groups: Vec::new(), processes: found, killed };
        for group in &groups {
            remove_all(group, &mut removed.groups)?;
        }
        if let Some(base) = &self.base {
            let failed = |source| PlacementError::Remove { path: base.clone(), source };
            let _locked = Kernel.lock(base).map_err(failed)?;
            removed.groups.extend(unified::settle(&Kernel, base).map_err(failed)?);
        }
        Ok(removed)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if !self.done {
            // Nobody to tell: the next start tries again.
            let _left_for_the_next_start = self.take_back();
        }
    }
}

/// Makes a group under a name that is not taken.
fn make(parent: &Path) -> io::Result<(GroupName, PathBuf)> {
    // More than one look only if names of ours were made by hand.
    for _ in 0..100 {
        let name = GroupName::fresh()?;
        let dir = parent.join(name.to_string());
        match Kernel.make(&dir) {
            Ok(()) => return Ok((name, dir)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Removes a group and all below it.
pub(super) fn remove_all(group: &Path, removed: &mut Vec<PathBuf>) -> Result<(), PlacementError> {
    for each in subtree(&Kernel, group) {
        remove_group(&Kernel, &each)
            .map_err(|source| PlacementError::Remove { path: each.clone(), source })?;
        removed.push(each);
    }
    Ok(())
}

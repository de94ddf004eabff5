//! cgroup v2: getting a parent below which the cpu controller may be used.
//!
//! v2 hands a controller to children only from a group that holds no processes itself. Where this
//! process' own group is such a parent already, or is the real root, nothing has to be arranged.
//! Elsewhere its processes step aside into a leaf, and the controller is enabled; when the last
//! workload has gone, all of it is undone in reverse. The leaf's existence is the record that the
//! controller was enabled by us, so a later run can undo it after SIGKILL.

use std::io;
use std::path::{Path, PathBuf};

use super::error::Unsuitable;
use super::name::{GroupName, Role};
use super::place::Place;
use super::tree::{Tree, members, remove_group};

/// A group that could become the parent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Candidate {
    pub(super) dir: PathBuf,
    pub(super) path: String,
}

/// The own group first, so that limits above it stay in force; then the mount's root, which only
/// root may write. A process that has stepped aside counts as being where it came from.
pub(super) fn candidates(place: &Place) -> Vec<Candidate> {
    let own = Candidate { dir: place.cpu_dir.clone(), path: place.path.clone() };
    let root = Candidate { dir: place.mount_dir.clone(), path: place.mount_path.clone() };
    let aside = own
        .dir
        .file_name()
        .and_then(|name| GroupName::parse(&name.to_string_lossy()))
        .is_some_and(|name| name.role == Role::Aside);
    let own = match (own.dir.parent(), own.path.rsplit_once('/')) {
        (Some(dir), Some((path, _))) if aside && own != root => Candidate {
            dir: dir.to_owned(),
            path: if path.is_empty() { "/".to_owned() } else { path.to_owned() },
        },
        _ => own,
    };
    if own == root { vec![own] } else { vec![own, root] }
}

/// What the files of a candidate say.
#[derive(Debug)]
pub(super) struct Facts {
    /// The hierarchy's real root, which is exempt from the rule about processes.
    pub(super) real_root: bool,
    /// Part of a threaded subtree.
    pub(super) threaded: bool,
    /// The controller may be handed on.
    pub(super) available: bool,
    /// It is handed on already.
    pub(super) enabled: bool,
    /// Processes are directly inside.
    pub(super) occupied: bool,
    /// Why its files cannot be written, if so.
    pub(super) denied: Option<io::Error>,
}

/// What has to be done to a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Strategy {
    /// Nothing.
    Direct,
    /// Enable the controller.
    Enable,
    /// Move its processes into a leaf, then enable the controller.
    StepAside,
}

/// Reads what [`plan`] needs.
pub(super) fn facts(tree: &dyn Tree, dir: &Path) -> Result<Facts, Unsuitable> {
    let read = |file: &str| {
        tree.read(&dir.join(file))
            .map_err(|source| Unsuitable::Refused { step: "read its files", source })
    };
    let kind = tree.read(&dir.join("cgroup.type")).ok();
    let writable = |file: &str| tree.writable(&dir.join(file));
    Ok(Facts {
        // Every group but the real root has a type (cgroup-v2.rst).
        real_root: kind.is_none(),
        threaded: kind.is_some_and(|kind| kind.trim() != "domain"),
        available: has_cpu(&read("cgroup.controllers")?),
        enabled: has_cpu(&read("cgroup.subtree_control")?),
        // Unreadable in a threaded subtree only, which is refused anyway.
        occupied: members(tree, dir).is_ok_and(|pids| !pids.is_empty()),
        denied: writable("cgroup.procs").and_then(|()| writable("cgroup.subtree_control")).err(),
    })
}

fn has_cpu(controllers: &str) -> bool {
    controllers.split_ascii_whitespace().any(|word| word == "cpu")
}

/// Decides. Pure.
pub(super) fn plan(facts: Facts) -> Result<Strategy, Unsuitable> {
    if facts.threaded {
        Err(Unsuitable::Threaded)
    } else if let Some(source) = facts.denied {
        Err(Unsuitable::Refused { step: "write its files", source })
    } else if !facts.available {
        Err(Unsuitable::NoController)
    } else if facts.enabled {
        Ok(Strategy::Direct)
    } else if facts.real_root || !facts.occupied {
        Ok(Strategy::Enable)
    } else {
        Ok(Strategy::StepAside)
    }
}

/// Carries a plan out. What was done by the time a step fails is undone.
pub(super) fn prepare(
    tree: &dyn Tree,
    base: &Path,
    strategy: Strategy,
    name: GroupName,
) -> Result<(), Unsuitable> {
    if strategy == Strategy::Direct {
        return Ok(());
    }
    let leaf = base.join(name.with_role(Role::Aside).to_string());
    let refused = |step| move |source| Unsuitable::Refused { step, source };
    tree.make(&leaf).map_err(refused("make a group"))?;
    let result = if strategy == Strategy::StepAside {
        move_all(tree, base, &leaf).map_err(refused("move its processes aside"))
    } else {
        Ok(())
    };
    let result = result.and_then(|()| {
        tree.write(&base.join("cgroup.subtree_control"), "+cpu")
            .map_err(refused("enable the cpu controller"))
    });
    if result.is_err() {
        // The reason to report is the first one.
        let _reported_instead = settle(tree, base);
    }
    result
}

/// Undoes [`prepare`] once no workload of ours is left below `base`, whoever prepared it. Returns
/// the leaves that were removed. Call it with the parent locked.
pub(super) fn settle(tree: &dyn Tree, base: &Path) -> io::Result<Vec<PathBuf>> {
    let children = tree.children(base)?;
    let ours: Vec<GroupName> = children.iter().filter_map(|name| GroupName::parse(name)).collect();
    if ours.is_empty() || ours.iter().any(|name| name.role == Role::Workload) {
        return Ok(Vec::new());
    }
    // Before the move: as long as children have the controller, the parent takes no process.
    let control = base.join("cgroup.subtree_control");
    if has_cpu(&tree.read(&control)?) {
        tree.write(&control, "-cpu")?;
    }
    let mut removed = Vec::new();
    for name in ours {
        let leaf = base.join(name.to_string());
        move_all(tree, &leaf, base)?;
        remove_group(tree, &leaf)?;
        removed.push(leaf);
    }
    Ok(removed)
}

/// Processes may fork while they are moved, so it takes more than one look.
const LOOKS: usize = 100;

const FOREIGN: &str = "some are of another pid namespace and can only be moved from there";

fn move_all(tree: &dyn Tree, from: &Path, to: &Path) -> io::Result<()> {
    let entrance = to.join("cgroup.procs");
    for _ in 0..LOOKS {
        let pids = match members(tree, from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        if pids.is_empty() {
            return Ok(());
        }
        // 0 stands for a process of another pid namespace; written, it would mean this one.
        if pids.contains(&0) {
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, FOREIGN));
        }
        for pid in pids {
            match tree.write(&entrance, &pid.to_string()) {
                // It has ended meanwhile.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                other => other?,
            }
        }
    }
    Err(io::ErrorKind::ResourceBusy.into())
}

#[cfg(test)]
#[path = "unified_tests.rs"]
mod tests;

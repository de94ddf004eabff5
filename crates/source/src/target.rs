//! From what people type to one group: `pid:7`, `cgroup:/x`, `docker:ab12`, `unit:nginx`, `self`.
//!
//! Never guesses: several matches are an error that lists them.

use std::path::Path;
use std::str::FromStr;

use unthrottle_model::recording::TargetFacts;
use unthrottle_model::rows::Hierarchy;

use crate::classify::{self, Runtime};
use crate::error::SourceError;
use crate::mounts::{CgroupFs, Located};
use crate::process;
use crate::scan;

/// What is to be watched, as typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetSpec {
    /// The group of a process.
    Pid(u32),
    /// A group by its filesystem path or hierarchy path.
    Cgroup(String),
    /// The group of this process.
    SelfGroup,
    /// A container by the beginning of its id, with the runtimes that may have made it.
    Container(ContainerKind, String),
    /// A systemd unit by name.
    Unit(String),
    /// A word without a kind: tried as each.
    Bare(String),
}

/// Which word stood before the id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContainerKind {
    /// `docker:`
    Docker,
    /// `podman:`
    Podman,
    /// `cri:`
    Cri,
}

impl ContainerKind {
    fn word(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::Cri => "cri",
        }
    }

    fn takes(self, runtime: Runtime) -> bool {
        match self {
            Self::Docker => matches!(
                runtime,
                Runtime::Docker | Runtime::UnknownContainer | Runtime::Kubernetes | Runtime::Ecs
            ),
            Self::Podman => runtime == Runtime::Podman,
            Self::Cri => {
                matches!(runtime, Runtime::Containerd | Runtime::Crio | Runtime::Kubernetes)
            }
        }
    }
}

/// The kinds, for messages.
const KINDS: &str =
    "`docker:ID`, `podman:ID`, `cri:ID`, `unit:NAME`, `pid:N`, `cgroup:PATH`, `self`";

impl FromStr for TargetSpec {
    type Err = SourceError;

    fn from_str(text: &str) -> Result<Self, SourceError> {
        let bad = |why: String, hint: &str| SourceError::BadTarget {
            text: text.to_owned(),
            why,
            hint: hint.to_owned(),
        };
        let (kind, rest) = match text.split_once(':') {
            // A path may hold colons, and so may a word that is tried as each.
            Some((kind, rest))
                if kind.chars().all(|c| c.is_ascii_lowercase()) && !kind.is_empty() =>
            {
                (kind, rest)
            }
            _ => ("", text),
        };
        if rest.is_empty() {
            return Err(bad("it names nothing".to_owned(), &format!("say {KINDS}")));
        }
        let container = |kind| Ok(Self::Container(kind, rest.to_owned()));
        match kind {
            "" if text == "self" => Ok(Self::SelfGroup),
            "" => Ok(Self::Bare(text.to_owned())),
            "pid" => match rest.parse() {
                Ok(pid) if pid > 0 => Ok(Self::Pid(pid)),
                _ => Err(bad(
                    format!("`{rest}` is not a process id"),
                    "find it with `ps` or `pgrep`",
                )),
            },
            "cgroup" => Ok(Self::Cgroup(rest.to_owned())),
            "docker" => container(ContainerKind::Docker),
            "podman" => container(ContainerKind::Podman),
            "cri" => container(ContainerKind::Cri),
            "unit" => Ok(Self::Unit(rest.to_owned())),
            other => Err(bad(format!("`{other}:` is no kind of target"), &format!("say {KINDS}"))),
        }
    }
}

/// A target found.
#[derive(Debug)]
pub struct Resolved {
    /// What it is. Its `group` key is the last level's.
    pub facts: TargetFacts,
    /// Where it is.
    pub located: Located,
}

/// Finds the one group that is meant.
///
/// # Errors
/// If nothing or more than one thing matches, or what matches cannot be seen from here.
pub fn resolve(fs: &CgroupFs, spec: &TargetSpec, asked: &str) -> Result<Resolved, SourceError> {
    let path = match spec {
        TargetSpec::Pid(pid) => path_of_process(fs, &pid.to_string())?,
        TargetSpec::SelfGroup => path_of_process(fs, "self")?,
        TargetSpec::Cgroup(text) => path_of_text(fs, text),
        TargetSpec::Container(kind, id) => {
            one(asked, container_paths(fs, *kind, id)?, || no_container(asked, *kind, id))?
        }
        TargetSpec::Unit(name) => one(asked, unit_paths(fs, name), || no_unit(fs, asked, name))?,
        TargetSpec::Bare(word) => bare(fs, word)?,
    };
    let located = fs.locate(&path)?;
    let identity = classify::classify(&path);
    let known = identity.runtime != Runtime::Unknown;
    // A group below a container is a part of it, with counters of its own.
    let name = match &identity.below {
        Some(below) => format!("{} {below}", identity.name),
        None => identity.name,
    };
    let facts = TargetFacts {
        asked: asked.to_owned(),
        name: if known { name } else { path.clone() },
        runtime: known.then(|| identity.runtime.word().to_owned()),
        hierarchy: fs.hierarchy,
        path,
        group: located.names.len() as u32,
        mount_root: located.mount.root.clone(),
        levels_hidden: fs.levels_hidden(&located),
    };
    Ok(Resolved { facts, located })
}

/// The group of a process in the cpu hierarchy.
///
/// # Errors
/// If the process is gone, or has no line for the controller.
pub fn path_of_process(fs: &CgroupFs, pid: &str) -> Result<String, SourceError> {
    let lines = process::memberships(&fs.root, pid)?;
    match process::path_for(&lines, fs.hierarchy, "cpu") {
        Some(path) => Ok(fs.full_path(path)),
        None => Err(SourceError::NoCpuLine { path: fs.root.proc(pid).join("cgroup") }),
    }
}

/// A filesystem path below a cgroup mount, or else a path within the hierarchy.
fn path_of_text(fs: &CgroupFs, text: &str) -> String {
    let trimmed = text.trim_end_matches('/');
    let dir = Path::new(text);
    // Many distributions make `cpu` a link to `cpu,cpuacct`: only the latter is a mount.
    let linked = || {
        let dir = fs.root.strip(dir).unwrap_or_else(|| dir.to_owned());
        fs.path_of_dir(&std::fs::canonicalize(fs.root.join(&dir)).ok()?)
    };
    fs.path_of_dir(dir).or_else(linked).unwrap_or_else(|| match trimmed {
        "" => "/".to_owned(),
        absolute if absolute.starts_with('/') => absolute.to_owned(),
        relative => format!("/{relative}"),
    })
}

fn container_paths(
    fs: &CgroupFs,
    kind: ContainerKind,
    id: &str,
) -> Result<Vec<String>, SourceError> {
    // Kubernetes writes `containerd://ID`.
    let id = id.rsplit("://").next().unwrap_or(id);
    let hex = id.len() >= 4 && id.len() <= 64 && id.chars().all(|c| c.is_ascii_hexdigit());
    if !hex {
        return Err(no_container_name(kind, id));
    }
    let id = id.to_ascii_lowercase();
    let matches = scan::groups(fs).into_iter().filter_map(|(path, _)| {
        let identity = classify::classify(&path);
        let found = kind.takes(identity.runtime)
            && identity.container_id.as_ref().is_some_and(|found| found.starts_with(&id));
        found.then_some((path, identity.container_id))
    });
    Ok(tops(matches))
}

/// Of groups with the same id, the outermost: subgroups of a container belong to it.
fn tops(matches: impl Iterator<Item = (String, Option<String>)>) -> Vec<String> {
    let mut found: Vec<(String, Option<String>)> = Vec::new();
    for (path, id) in matches {
        let inside = |(outer, outer_id): &(String, Option<String>)| {
            *outer_id == id && path.starts_with(&format!("{outer}/"))
        };
        if !found.iter().any(inside) {
            found.push((path, id));
        }
    }
    found.into_iter().map(|(path, _)| path).collect()
}

/// Unit names end in their type; `nginx` means `nginx.service`, as for systemctl.
fn unit_name(name: &str) -> String {
    let types = [".service", ".scope", ".slice", ".socket", ".mount", ".swap"];
    if types.iter().any(|suffix| name.ends_with(suffix)) {
        name.to_owned()
    } else {
        format!("{name}.service")
    }
}

fn unit_paths(fs: &CgroupFs, name: &str) -> Vec<String> {
    let name = unit_name(name);
    units_among(scan::groups(fs), &name)
}

fn units_among(groups: Vec<(String, std::path::PathBuf)>, name: &str) -> Vec<String> {
    let matches = groups.into_iter().filter_map(|(path, _)| {
        // The unit's own group ends in its name; what is below it are its parts.
        let last = path.rsplit('/').next().unwrap_or("");
        (last == name || classify::classify(&path).unit.as_deref() == Some(name))
            .then(|| (path, Some(name.to_owned())))
    });
    tops(matches)
}

fn bare(fs: &CgroupFs, word: &str) -> Result<String, SourceError> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut add = |target: String, path: String| {
        if !found.iter().any(|(_, known)| *known == path) {
            found.push((target, path));
        }
    };
    if let Ok(pid) = word.parse::<u32>()
        && let Ok(path) = path_of_process(fs, &pid.to_string())
    {
        add(format!("pid:{pid}"), path);
    }
    for kind in [ContainerKind::Docker, ContainerKind::Podman, ContainerKind::Cri] {
        for path in container_paths(fs, kind, word).unwrap_or_default() {
            let id = classify::classify(&path).container_id.unwrap_or_default();
            add(format!("{}:{id}", kind.word()), path);
        }
    }
    for path in unit_paths(fs, word) {
        add(format!("cgroup:{path}"), path);
    }
    let path = path_of_text(fs, word);
    if fs.locate(&path).is_ok() {
        add(format!("cgroup:{path}"), path);
    }
    let mut paths = found.iter().map(|(_, path)| path.clone());
    match (paths.next(), paths.next()) {
        (Some(path), None) => Ok(path),
        (None, _) => Err(SourceError::NoMatch {
            target: word.to_owned(),
            why: "no process, container id, unit or group is called so".to_owned(),
            hint: "list the limited groups with `unthrottle top --once`".to_owned(),
        }),
        _ => Err(SourceError::Ambiguous {
            target: word.to_owned(),
            matches: found.into_iter().map(|(target, _)| target).collect(),
        }),
    }
}

fn one(
    asked: &str,
    paths: Vec<String>,
    none: impl FnOnce() -> SourceError,
) -> Result<String, SourceError> {
    let mut paths = paths.into_iter();
    match (paths.next(), paths.next()) {
        (Some(path), None) => Ok(path),
        (None, _) => Err(none()),
        (Some(first), Some(second)) => Err(SourceError::Ambiguous {
            target: asked.to_owned(),
            matches: [first, second]
                .into_iter()
                .chain(paths)
                .map(|p| format!("cgroup:{p}"))
                .collect(),
        }),
    }
}

fn no_container_name(kind: ContainerKind, id: &str) -> SourceError {
    let word = kind.word();
    let ask = match kind {
        ContainerKind::Cri => "crictl ps --no-trunc".to_owned(),
        _ => format!("{word} inspect -f '{{{{.Id}}}}' {id}"),
    };
    SourceError::BadTarget {
        text: format!("{word}:{id}"),
        why: "a container is found by its id, at least 4 hexadecimal digits".to_owned(),
        hint: format!("get the id with `{ask}`"),
    }
}

fn no_container(asked: &str, kind: ContainerKind, id: &str) -> SourceError {
    SourceError::NoMatch {
        target: asked.to_owned(),
        why: format!(
            "no running {} container in the cpu hierarchy begins with `{id}`",
            kind.word()
        ),
        hint:
            "a stopped container has no group; list the limited groups with `unthrottle top --once`"
                .to_owned(),
    }
}

/// On hybrid hosts a unit without CPU settings has no group in the cpu hierarchy: say so.
fn no_unit(fs: &CgroupFs, asked: &str, name: &str) -> SourceError {
    let full = unit_name(name);
    let elsewhere = fs.hierarchy == Hierarchy::V1Cpu
        && fs
            .of(Some("name=systemd"))
            .chain(fs.of(None))
            .any(|mount| !units_among(scan::below(fs, mount), &full).is_empty());
    if elsewhere {
        SourceError::NoMatch {
            target: asked.to_owned(),
            why: format!("unit `{full}` runs, but has no group of its own in the cpu hierarchy"),
            hint: "it has no CPU limit of its own; watch one of its processes with `pid:N`"
                .to_owned(),
        }
    } else {
        SourceError::NoMatch {
            target: asked.to_owned(),
            why: format!("no unit `{full}` has a group in the cpu hierarchy"),
            hint: format!("check that it runs: `systemctl status {full}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grammar() {
        let spec = |text: &str| text.parse::<TargetSpec>().ok();
        assert_eq!(spec("pid:7"), Some(TargetSpec::Pid(7)));
        assert_eq!(spec("self"), Some(TargetSpec::SelfGroup));
        assert_eq!(spec("unit:nginx"), Some(TargetSpec::Unit("nginx".to_owned())));
        assert_eq!(
            spec("cgroup:/mesos/task:7"),
            Some(TargetSpec::Cgroup("/mesos/task:7".to_owned()))
        );
        assert_eq!(spec("/a/b:c"), Some(TargetSpec::Bare("/a/b:c".to_owned())));
        assert_eq!(spec("nginx"), Some(TargetSpec::Bare("nginx".to_owned())));
        for bad in ["pid:0", "pid:x", "pid:", "pods:x", "docker:", ""] {
            assert_eq!(spec(bad), None, "{bad}");
        }
    }

    #[test]
    fn unit_types() {
        assert_eq!(unit_name("nginx"), "nginx.service");
        assert_eq!(unit_name("user.slice"), "user.slice");
        assert_eq!(unit_name("getty@tty1"), "getty@tty1.service");
    }
}

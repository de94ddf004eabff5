//! `/proc/PID/cgroup`: in which group a process is, per hierarchy.

use unthrottle_model::rows::Hierarchy;

use crate::error::SourceError;
use crate::read;
use crate::root::Root;

/// One line: `ID:CONTROLLERS:PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// Controllers of a v1 hierarchy, `name=systemd` for a named one; empty for v2.
    pub controllers: Vec<String>,
    /// Path, relative to the reader's cgroup namespace; may begin with `/..`.
    pub path: String,
}

/// All lines. The path is everything after the second colon: it may hold colons itself.
#[must_use]
pub fn parse(text: &str) -> Vec<Membership> {
    text.lines()
        .filter_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (_id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            let controllers =
                controllers.split(',').filter(|c| !c.is_empty()).map(str::to_owned).collect();
            // The kernel appends this once the group was removed with the process still in it.
            let path = path.strip_suffix(" (deleted)").unwrap_or(path).to_owned();
            path.starts_with('/').then_some(Membership { controllers, path })
        })
        .collect()
}

/// Reads the memberships of a process (`self` or a number).
///
/// # Errors
/// If the process is not there or its file cannot be read.
pub fn memberships(root: &Root, pid: &str) -> Result<Vec<Membership>, SourceError> {
    let path = root.proc(pid).join("cgroup");
    match read::try_text(&path) {
        Ok(text) => Ok(parse(&text)),
        Err(source) => match pid.parse() {
            // ESRCH: it ended between the open and the read.
            Ok(pid)
                if source.kind() == std::io::ErrorKind::NotFound
                    || source.raw_os_error() == Some(libc::ESRCH) =>
            {
                Err(SourceError::NoProcess { pid })
            }
            _ => Err(SourceError::Read { path, source }),
        },
    }
}

/// Path of the line that carries `controller` (v1), or of the v2 line.
#[must_use]
pub fn path_for<'a>(
    memberships: &'a [Membership],
    hierarchy: Hierarchy,
    controller: &str,
) -> Option<&'a str> {
    memberships
        .iter()
        .find(|each| match hierarchy {
            Hierarchy::V1Cpu => each.controllers.iter().any(|c| c == controller),
            Hierarchy::V2 => each.controllers.is_empty(),
        })
        .map(|each| each.path.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_colons() {
        let lines =
            parse("5:cpuacct,cpu:/kubepods/pod\n1:name=systemd:/x\n0::/system.slice/a:b.scope\n");
        assert_eq!(path_for(&lines, Hierarchy::V1Cpu, "cpu"), Some("/kubepods/pod"));
        assert_eq!(path_for(&lines, Hierarchy::V1Cpu, "cpuset"), None);
        assert_eq!(path_for(&lines, Hierarchy::V2, "cpu"), Some("/system.slice/a:b.scope"));
        let mesos = parse("2:cpu,cpuacct:/mesos/task:7/web\n");
        assert_eq!(path_for(&mesos, Hierarchy::V1Cpu, "cpuacct"), Some("/mesos/task:7/web"));
    }

    #[test]
    fn nonsense_is_left_out() {
        assert!(parse("abc\n\n1:cpu\n1:cpu:relative\n").is_empty());
    }
}

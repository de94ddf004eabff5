//! The shapes of containers and machines. Each function looks at the last part of a path, with the
//! parts above it as witnesses.

use super::{Found, Runtime, is_hex, is_id, is_uuid, kubernetes, short, units};

/// Before the id, in the last part of a path: whose it is, and the prefix of its name for people.
///
/// Monitors (`libpod-conmon-`, `crio-conmon-`) are not here: what follows `libpod-` in their names is
/// no id.
const PREFIXES: &[(&str, Runtime, &str)] = &[
    ("docker", Runtime::Docker, "docker"),
    ("libpod", Runtime::Podman, "podman"),
    // Below the unit of a service, with `--cgroups=split`, as Quadlet uses it.
    ("libpod-payload", Runtime::Podman, "podman"),
    ("cri-containerd", Runtime::Containerd, "cri"),
    ("crio", Runtime::Crio, "cri"),
    ("nerdctl", Runtime::Containerd, "containerd"),
];

/// What the group with these parts is, if it is a container, a task or a machine.
pub(super) fn container(parts: &[&str]) -> Option<Found> {
    let (last, above) = parts.split_last()?;
    ecs(last, above)
        .or_else(|| prefixed(last))
        .or_else(|| lxc(last, above))
        .or_else(|| bare_id(last, above))
        .or_else(|| nomad(last, above))
        .or_else(|| garden(last, above))
        .or_else(|| machine(last, above))
        .or_else(|| podman_pod(last))
}

/// `PREFIX-ID.scope`, `PREFIX-ID`, and `NAME.slice:PREFIX:ID`, which is what a runtime that takes the
/// systemd driver's notation for a path makes of it.
fn prefixed(last: &str) -> Option<Found> {
    let (prefix, id) = match last.split_once(".slice:") {
        Some((_, rest)) => rest.split_once(':')?,
        None => last.strip_suffix(".scope").unwrap_or(last).rsplit_once('-')?,
    };
    let (_, runtime, word) = PREFIXES.iter().find(|(known, ..)| *known == prefix)?;
    is_id(id).then(|| Found::container(*runtime, word, id))
}

/// An id with nothing around it: the parent tells whose.
fn bare_id(last: &str, above: &[&str]) -> Option<Found> {
    if !is_id(last) {
        return None;
    }
    Some(if above.last() == Some(&"docker") {
        Found::container(Runtime::Docker, "docker", last)
    } else if above.last() == Some(&"libpod_parent") {
        // A container has `libpod-` before its id there.
        pod_of_podman(last)
    } else if kubernetes::pod_of(above).is_some_and(|pod| pod.uid.is_some()) {
        Found::container(Runtime::Kubernetes, "cri", last)
    } else {
        Found::container(Runtime::UnknownContainer, "container", last)
    })
}

/// `/lxc/NAME`, `/lxc.payload/NAME` (3.1), `lxc.payload.NAME` (from 4.0). The monitor is a process
/// of the host, not the container.
fn lxc(last: &str, above: &[&str]) -> Option<Found> {
    let name = match last.strip_prefix("lxc.payload.") {
        Some(name) => name,
        None if matches!(host_parts(above), ["lxc" | "lxc.payload"]) => last,
        None => return None,
    };
    (!name.is_empty()).then(|| Found::new(Runtime::Lxc, format!("lxc:{}", units::unescape(name))))
}

/// `/ecs/[CLUSTER/]TASK[/CONTAINER]`, and `/ecstasks.slice/ecstasks-TASK.slice[/docker-ID.scope]`.
fn ecs(last: &str, above: &[&str]) -> Option<Found> {
    let is_task = |text: &str| is_uuid(text) || (text.len() == 32 && is_hex(text));
    let slice_task = |text: &&str| {
        let task = text.strip_prefix("ecstasks-").and_then(|text| text.strip_suffix(".slice"));
        task.filter(|task| is_task(task)).map(str::to_owned)
    };
    let of_task = |task: &str| Found::new(Runtime::Ecs, format!("ecs:{}", short(task)));
    let of_container = |task: &str, id: &str| {
        let name = format!("ecs:{}/{}", short(task), short_of_task(id));
        Found { runtime: Runtime::Ecs, name, container_id: Some(id.to_owned()) }
    };
    match host_parts(above) {
        ["ecs"] | ["ecs", _] if is_task(last) => Some(of_task(last)),
        ["ecs", task] | ["ecs", _, task] if is_task(task) => {
            // On Fargate an id is the task's and a number.
            let numbered = last.split_once('-').is_some_and(|(id, number)| {
                let is_number =
                    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
                id.len() == 32 && is_hex(id) && is_number
            });
            (is_id(last) || numbered).then(|| of_container(task, last))
        }
        ["ecstasks.slice"] => slice_task(&last).map(|task| of_task(&task)),
        ["ecstasks.slice", slice] => {
            let id = last.strip_prefix("docker-")?.strip_suffix(".scope")?;
            let task = slice_task(slice)?;
            is_id(id).then(|| of_container(&task, id))
        }
        _ => None,
    }
}

/// Fargate's ids of one task differ only behind the dash.
fn short_of_task(id: &str) -> String {
    match id.split_once('-') {
        Some((task, number)) => format!("{}-{number}", short(task)),
        None => short(id).to_owned(),
    }
}

/// `ALLOCATION.TASK.scope` or `ALLOCATION-TASK` below `nomad.slice` or `/nomad`; old versions have
/// only a number of their own there.
fn nomad(last: &str, above: &[&str]) -> Option<Found> {
    if !matches!(host_parts(above).first(), Some(&("nomad" | "nomad.slice"))) {
        return None;
    }
    let last = last.strip_suffix(".scope").unwrap_or(last);
    let allocation = last.get(..36).filter(|allocation| is_uuid(allocation))?;
    let first = &allocation[..8];
    let name = match last.get(36..)?.strip_prefix(['.', '-']) {
        Some(task) if !task.is_empty() => format!("nomad:{first}/{}", units::unescape(task)),
        None if last.len() == 36 => format!("nomad:{first}"),
        _ => return None,
    };
    Some(Found::new(Runtime::Nomad, name))
}

/// `garden/HANDLE`; the platform's handles are a uuid, or one with a shorter end.
fn garden(last: &str, above: &[&str]) -> Option<Found> {
    let parent = match above {
        [.., parent, "good" | "bad"] | [.., parent] => parent,
        [] => return None,
    };
    let handle = last.split('-').map(str::len);
    let is_handle = is_uuid(last) || (handle.eq([8, 4, 4, 4, 4]) && last.split('-').all(is_hex));
    (*parent == "garden" && is_handle).then(|| Found::container(Runtime::Garden, "garden", last))
}

/// `systemd-nspawn@NAME.service` and `machine-NAME.scope` below `machine.slice`.
fn machine(last: &str, above: &[&str]) -> Option<Found> {
    if host_parts(above).first() != Some(&"machine.slice") {
        return None;
    }
    let nspawn =
        last.strip_prefix("systemd-nspawn@").and_then(|text| text.strip_suffix(".service"));
    let scope = last.strip_prefix("machine-").and_then(|text| text.strip_suffix(".scope"));
    let name = nspawn.or(scope).filter(|name| !name.is_empty())?;
    Some(Found::new(Runtime::Machine, format!("machine:{}", units::unescape(name))))
}

/// `machine-libpod_pod_ID.slice`, `user-libpod_pod_ID.slice`.
fn podman_pod(last: &str) -> Option<Found> {
    let (_, id) = last.strip_suffix(".slice")?.split_once("-libpod_pod_")?;
    is_id(id).then(|| pod_of_podman(id))
}

fn pod_of_podman(id: &str) -> Found {
    Found::new(Runtime::Podman, format!("podman-pod:{}", short(id)))
}

/// Without the way up out of a cgroup namespace.
fn host_parts<'a, 'b>(parts: &'a [&'b str]) -> &'a [&'b str] {
    let up = parts.iter().take_while(|part| **part == "..").count();
    &parts[up..]
}

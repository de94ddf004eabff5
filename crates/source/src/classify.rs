//! What a group is by its path alone: no file is read and no runtime asked.
//!
//! Of several containers on one path the innermost is meant (a Kubernetes pod on a node that is
//! itself a Docker container); what lies below a container belongs to it, systemd units inside it
//! too. A path that fits no known shape stays a path: [`Runtime::Unknown`], named by itself. Names
//! are shown with systemd's escapes undone and are untrusted: they may hold any character.

mod containers;
mod kubernetes;
mod units;

/// Who made a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Runtime {
    /// A container of Docker Engine.
    Docker,
    /// A container or a pod of Podman.
    Podman,
    /// A container of containerd, through Kubernetes or nerdctl.
    Containerd,
    /// A container of CRI-O.
    Crio,
    /// A pod, the parent of the pods of a class, or a container in a pod whose runtime the path does
    /// not tell (containerd's and Docker's look the same with the cgroupfs driver).
    Kubernetes,
    /// A container of LXC, LXD, Incus or Proxmox.
    Lxc,
    /// A task of Amazon ECS, or a container in one.
    Ecs,
    /// A task of Nomad.
    Nomad,
    /// A container of Cloud Foundry's Garden.
    Garden,
    /// A machine known to systemd-machined: nspawn, libvirt.
    Machine,
    /// A container by the shape of its name (64 hexadecimal digits); whose, the path does not tell.
    UnknownContainer,
    /// A service of the system's manager.
    SystemdService,
    /// A scope of the system's manager: a session, or processes started by somebody else.
    SystemdScope,
    /// A slice: a group of units.
    SystemdSlice,
    /// A mount, a socket or a swap unit with processes of its own.
    SystemdOther,
    /// A service of a user's manager.
    UserService,
    /// A scope of a user's manager.
    UserScope,
    /// No known shape.
    Unknown,
}

impl Runtime {
    /// The word for it in data.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::Containerd => "containerd",
            Self::Crio => "cri-o",
            Self::Kubernetes => "kubernetes",
            Self::Lxc => "lxc",
            Self::Ecs => "ecs",
            Self::Nomad => "nomad",
            Self::Garden => "garden",
            Self::Machine => "machine",
            Self::UnknownContainer => "container",
            Self::SystemdService => "systemd-service",
            Self::SystemdScope => "systemd-scope",
            Self::SystemdSlice => "systemd-slice",
            Self::SystemdOther => "systemd-unit",
            Self::UserService => "user-service",
            Self::UserScope => "user-scope",
            Self::Unknown => "unknown",
        }
    }
}

/// The quality-of-service class of a pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Qos {
    /// Every container's limit equals its request.
    Guaranteed,
    /// Some request or limit is set.
    Burstable,
    /// None is set.
    BestEffort,
}

/// What a path says about a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// Who made it.
    pub runtime: Runtime,
    /// A short name for people; where there is such a target, it can be typed as one
    /// (`docker:ab12cd34ef56`, `cri:ab12cd34ef56`, `unit:nginx.service`). The path itself if unknown.
    pub name: String,
    /// The container's whole id.
    pub container_id: Option<String>,
    /// The pod's uid as the API writes it; for static pods the hash that stands for it.
    pub pod_uid: Option<String>,
    /// The systemd unit that the group belongs to, as systemd writes it.
    pub unit: Option<String>,
    /// The pod's class.
    pub qos: Option<Qos>,
    /// The way from the group that is named here down to this one, if it is not that one itself.
    pub below: Option<String>,
}

/// What a part of a path is found to be: the group that ends with it is the one that is named.
struct Found {
    runtime: Runtime,
    name: String,
    container_id: Option<String>,
}

impl Found {
    fn new(runtime: Runtime, name: String) -> Self {
        Self { runtime, name, container_id: None }
    }

    /// A container that is named by the first twelve characters of its id, as its engine does.
    fn container(runtime: Runtime, prefix: &str, id: &str) -> Self {
        let name = format!("{prefix}:{}", short(id));
        Self { runtime, name, container_id: Some(id.to_owned()) }
    }
}

/// Says what the group at `path` of its hierarchy is. Any text is a path.
#[must_use]
pub fn classify(path: &str) -> Identity {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let owner = owner(&parts);
    let Some((length, found)) = owner else {
        return Identity {
            runtime: Runtime::Unknown,
            name: path.to_owned(),
            container_id: None,
            pod_uid: None,
            unit: None,
            qos: None,
            below: None,
        };
    };
    let (own, below) = parts.split_at(length);
    let pod = kubernetes::pod_of(own);
    Identity {
        runtime: found.runtime,
        name: found.name,
        container_id: found.container_id,
        qos: pod.as_ref().and_then(|pod| pod.qos),
        pod_uid: pod.and_then(|pod| pod.uid),
        unit: units::unit_of(own).map(|unit| unit.name.to_owned()),
        below: (!below.is_empty()).then(|| below.join("/")),
    }
}

/// The group on this path that gives the name: how many parts it has, and what it is.
fn owner(parts: &[&str]) -> Option<(usize, Found)> {
    let innermost = (1..=parts.len()).rev().find_map(|length| {
        let own = &parts[..length];
        let found = containers::container(own)
            .or_else(|| kubernetes::monitor(own))
            .or_else(|| kubernetes::level(own))?;
        Some((length, found))
    });
    innermost.or_else(|| units::named(parts))
}

/// Exactly 64 lowercase hexadecimal digits.
fn is_id(text: &str) -> bool {
    text.len() == 64 && is_hex(text)
}

/// 8-4-4-4-12 lowercase hexadecimal digits.
fn is_uuid(text: &str) -> bool {
    let lengths = [8, 4, 4, 4, 12];
    text.split('-').count() == lengths.len()
        && text.split('-').zip(lengths).all(|(part, length)| part.len() == length && is_hex(part))
}

fn is_hex(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}

#[cfg(test)]
mod tests;

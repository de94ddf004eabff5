//! Pods and their parents, with both cgroup drivers of the kubelet.

use super::{Found, Qos, Runtime, is_hex, is_uuid, short};

/// A level of Kubernetes above the containers.
pub(super) struct Level {
    /// Of a pod; none above the pods.
    pub(super) uid: Option<String>,
    /// None at the very top, where all classes meet.
    pub(super) qos: Option<Qos>,
}

/// The innermost level of Kubernetes on this path, this group included.
pub(super) fn pod_of(parts: &[&str]) -> Option<Level> {
    (1..=parts.len()).rev().find_map(|length| parse(&parts[..length]))
}

/// What the group with these parts is, if it is a level of Kubernetes.
pub(super) fn level(parts: &[&str]) -> Option<Found> {
    let level = parse(parts)?;
    let name = match (&level.uid, level.qos) {
        (Some(uid), _) => format!("pod-uid:{uid}"),
        (None, Some(Qos::Burstable)) => "kubepods:burstable".to_owned(),
        (None, Some(Qos::BestEffort)) => "kubepods:besteffort".to_owned(),
        (None, _) => "kubepods".to_owned(),
    };
    Some(Found::new(Runtime::Kubernetes, name))
}

/// A monitor of CRI-O's, which is in the pod but not in a container.
pub(super) fn monitor(parts: &[&str]) -> Option<Found> {
    let (last, above) = parts.split_last()?;
    pod_of(above)?.uid?;
    let id = last.strip_suffix(".scope").unwrap_or(last).strip_prefix("crio-conmon-")?;
    let name = format!("crio-conmon:{}", short(id));
    super::is_id(id).then(|| Found::new(Runtime::Kubernetes, name))
}

fn parse(parts: &[&str]) -> Option<Level> {
    let (last, above) = parts.split_last()?;
    // The colon form names the slice and the container in one part.
    let slice = last.split_once(".slice:").map(|(slice, _)| slice);
    match slice.or_else(|| last.strip_suffix(".slice")) {
        Some(slice) => parse_slice(slice),
        None => parse_directory(last, above),
    }
}

/// `[ROOT-]kubepods[-CLASS][-podUID]`: systemd repeats the parents in a slice's name.
fn parse_slice(slice: &str) -> Option<Level> {
    let rest = match slice.strip_prefix("kubepods") {
        Some(rest) => rest,
        None => slice.split_once("-kubepods")?.1,
    };
    let (qos, rest) = if let Some(rest) = rest.strip_prefix("-burstable") {
        (Some(Qos::Burstable), rest)
    } else if let Some(rest) = rest.strip_prefix("-besteffort") {
        (Some(Qos::BestEffort), rest)
    } else {
        (None, rest)
    };
    if rest.is_empty() {
        return Some(Level { uid: None, qos });
    }
    // A dash would be a level of its own to systemd, so the kubelet writes underscores.
    let uid = rest.strip_prefix("-pod").filter(|uid| !uid.is_empty())?;
    let dashed = uid.replace('_', "-");
    let uid = if is_uuid(&dashed) { dashed } else { uid.to_owned() };
    Some(Level { uid: Some(uid), qos: qos.or(Some(Qos::Guaranteed)) })
}

/// `kubepods[/CLASS][/podUID]`.
fn parse_directory(last: &str, above: &[&str]) -> Option<Level> {
    let class = |name: &str| match name {
        "burstable" => Some(Qos::Burstable),
        "besteffort" => Some(Qos::BestEffort),
        _ => None,
    };
    match (above, last) {
        (_, "kubepods") => return Some(Level { uid: None, qos: None }),
        ([.., "kubepods"], last) if class(last).is_some() => {
            return Some(Level { uid: None, qos: class(last) });
        }
        _ => {}
    }
    let uid = last.strip_prefix("pod").filter(|uid| !uid.is_empty())?;
    let known = is_uuid(uid) || (uid.len() == 32 && is_hex(uid));
    let qos = match above {
        [.., "kubepods", qos] => Some(class(qos)?),
        [.., "kubepods"] => Some(Qos::Guaranteed),
        // Seen from another pod the way down begins at the pod; its class is out of sight.
        [.., ".."] if known => None,
        _ => return None,
    };
    Some(Level { uid: Some(uid.to_owned()), qos })
}

//! Collects what a host lets us see.

use std::path::Path;

use unthrottle_model::capabilities::{Capabilities, MountFact};

use crate::cgroup::Group;
use crate::host;
use crate::mounts::{CgroupFs, Version};
use crate::read;
use crate::root::Root;
use crate::scan;
use crate::target::path_of_process;

/// Where runtimes listen or live.
const RUNTIMES: [(&str, &str); 8] = [
    ("docker", "/run/docker.sock"),
    ("docker", "/var/run/docker.sock"),
    ("podman", "/run/podman/podman.sock"),
    ("containerd", "/run/containerd/containerd.sock"),
    ("cri-o", "/run/crio/crio.sock"),
    ("k3s", "/run/k3s/containerd/containerd.sock"),
    ("kubelet", "/var/lib/kubelet"),
    ("systemd", "/run/systemd/system"),
];

/// Looks around. Never fails: what cannot be seen is missing in the answer.
#[must_use]
pub fn probe(root: &Root) -> Capabilities {
    let fs = CgroupFs::discover(root).ok();
    let own_group = fs.as_ref().and_then(|fs| path_of_process(fs, "self").ok());
    let own = fs.as_ref().zip(own_group.as_ref()).and_then(|(fs, path)| fs.locate(path).ok());
    let exists = |path: &str| root.join(Path::new(path)).exists();
    let mut runtimes: Vec<(String, String)> = Vec::new();
    for (name, path) in RUNTIMES {
        if exists(path) && !runtimes.iter().any(|(known, _)| known == name) {
            runtimes.push((name.to_owned(), path.to_owned()));
        }
    }
    Capabilities {
        host: host::facts(root),
        mounts: fs.as_ref().map(mount_facts).unwrap_or_default(),
        hierarchy: fs.as_ref().map(|fs| fs.hierarchy),
        own_group,
        own_group_writable: own.as_ref().is_some_and(|own| {
            use rustix::fs::Access;
            rustix::fs::access(&own.dir, Access::WRITE_OK).is_ok()
        }),
        groups: fs.as_ref().map(count),
        euid: rustix::process::geteuid().as_raw(),
        cap_eff: cap_eff(root),
        all_levels: fs.as_ref().zip(own.as_ref()).map(|(fs, own)| !fs.levels_hidden(own)),
        stat_local: own.is_some_and(|own| own.dir.join("cpu.stat.local").exists()),
        psi: read::try_text(&root.proc("pressure/cpu")).is_ok(),
        schedstat: read::try_text(&root.proc("self/schedstat"))
            .is_ok_and(|text| text.split_ascii_whitespace().count() >= 3),
        btf: exists("/sys/kernel/btf/vmlinux"),
        lockdown: lockdown(root),
        kprobes: kprobes(root),
        runtimes,
    }
}

fn mount_facts(fs: &CgroupFs) -> Vec<MountFact> {
    fs.mounts
        .iter()
        .map(|mount| MountFact {
            point: mount.point.display().to_string(),
            root: mount.root.clone(),
            controllers: match &mount.version {
                // The options also say `rw`, `xattr`: not controllers.
                Version::V1(words) => {
                    let options = ["rw", "ro", "xattr", "noprefix", "clone_children"];
                    let is = |word: &&String| {
                        !options.contains(&word.as_str()) && !word.starts_with("release_agent")
                    };
                    Some(words.iter().filter(is).cloned().collect())
                }
                Version::V2 => None,
            },
        })
        .collect()
}

fn count(fs: &CgroupFs) -> (usize, usize) {
    let groups = scan::groups(fs);
    let limited = groups.iter().filter(|(path, dir)| {
        Group::open(fs, path, dir)
            .and_then(|mut group| group.read())
            .is_ok_and(|reading| reading.limit.cores().is_some())
    });
    (groups.len(), limited.count())
}

fn cap_eff(root: &Root) -> Option<u64> {
    let status = read::try_text(&root.proc("self/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(line.trim(), 16).ok()
}

/// `none [integrity] confidentiality`: the word in brackets is in force.
fn lockdown(root: &Root) -> Option<String> {
    let text = read::try_text(&root.join(Path::new("/sys/kernel/security/lockdown"))).ok()?;
    let (_, rest) = text.split_once('[')?;
    rest.split_once(']').map(|(mode, _)| mode.to_owned())
}

/// Kernels with kprobes have a file for their list; without debugfs or tracefs nobody can tell.
fn kprobes(root: &Root) -> Option<bool> {
    let tracing = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
    let exists = |path: &str| root.join(Path::new(path)).exists();
    let mounted = tracing.iter().find(|dir| exists(&format!("{dir}/events")))?;
    Some(exists(&format!("{mounted}/kprobe_events")))
}

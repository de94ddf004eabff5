//! What a process inside a container or a cgroup namespace sees of the hierarchy.

use unthrottle_testkit::FakeTree;

use crate::support::{
    effective, find, finding, found, limits, look, loss, mountinfo, refused, v1_group_at,
    v2_group_at,
};

const ID: &str = "4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a";

/// A container's own view on v2 with a private cgroup namespace: its group is the root of all.
fn private_namespace(max: &str) -> FakeTree {
    let tree = FakeTree::v2();
    tree.group("/", |group| {
        group.file("cpu.max", max).file("cgroup.type", "domain\n").file("cpu.weight", "100\n")
    });
    tree.file("proc/self/cgroup", "0::/\n");
    tree
}

/// C017: the path is `/`, and yet there is a limit to read.
#[test]
fn a_private_namespace_shows_its_own_limit_at_the_root() {
    let tree = private_namespace("25000 100000\n");
    let e = look(&tree, "self");
    assert_eq!(limits(&e), ["/ 0.25"]);
    assert_eq!(effective(&e), "0.25 quota /");
}

/// C022: on v1 the mount's root is the container's own path, and the files lie at the mount point.
#[test]
fn a_v1_container_strips_the_root_of_its_mount() {
    let own = format!("/docker/{ID}");
    let tree = FakeTree::v1_joined();
    tree.mountinfo(&mountinfo(&[&format!(
        "35 31 0:32 {own} /sys/fs/cgroup/cpu,cpuacct ro,nosuid - cgroup cgroup rw,cpu,cpuacct"
    )]));
    tree.group("/", |group| group.quota(100_000, 100_000)).reader_in(&own);
    let e = look(&tree, "self");
    assert_eq!(limits(&e), [format!("{own} 1")]);
    assert_eq!(effective(&e), format!("1 quota {own}"));
    let hidden = loss(&e, "limits").expect("levels above are not visible");
    assert!(hidden.contains(&own), "{hidden}");
    assert!(finding(&e, "hidden_limit").is_some());
}

/// A process of the container that made a group below its own.
#[test]
fn a_subgroup_of_a_v1_container_has_its_levels_down_from_the_mount() {
    let own = format!("/docker/{ID}");
    let tree = FakeTree::v1_joined();
    tree.mountinfo(&mountinfo(&[&format!(
        "35 31 0:32 {own} /sys/fs/cgroup/cpu,cpuacct ro,nosuid - cgroup cgroup rw,cpu,cpuacct"
    )]));
    tree.group("/", |group| group.quota(100_000, 100_000));
    tree.group("/init", |group| group.quota(50_000, 100_000));
    tree.reader_in(&format!("{own}/init"));
    let e = look(&tree, "self");
    assert_eq!(limits(&e), [format!("{own} 1"), format!("{own}/init 0.5")]);
    // What people copy from a shell inside the container.
    let path = find(&tree, "cgroup:/sys/fs/cgroup/cpu,cpuacct/init").expect("found").1.facts.path;
    assert_eq!(path, format!("{own}/init"));
}

/// C023: the directory is named for two controllers and carries one.
#[test]
fn a_directory_named_for_two_controllers_may_carry_one() {
    let tree = FakeTree::v1_joined();
    tree.mountinfo(&mountinfo(&[
        "35 31 0:32 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu",
    ]));
    tree.file("proc/self/cgroup", "3:cpuacct:/\n2:cpu:/\n");
    tree.group("/", |group| group.quota(150_000, 100_000));
    assert_eq!(effective(&look(&tree, "self")), "1.5 quota /");
}

/// C019: a sibling as seen from inside a namespace, where nothing shows it.
#[test]
fn a_sibling_outside_of_the_namespace_is_said_to_be_outside() {
    let tree = private_namespace("max 100000\n");
    let sibling = "/../../../kubepods-burstable.slice/cri-containerd-1.scope";
    tree.process(7, &[&format!("0::{sibling}")], "sibling");
    insta::assert_snapshot!(refused(&tree, "pid:7"), @r"
    Machine: group `/../../../kubepods-burstable.slice/cri-containerd-1.scope` lies outside what the v2 mount shows (its root is `/`)
    hint: this process is in a cgroup namespace or container that hides the group: run on the host, or mount the host's /proc and /sys and use `--root DIR`
    ");
}

/// C019: the same where the host's hierarchy is mounted beside the container's own.
#[test]
fn a_sibling_is_found_through_a_host_mount_beside_the_own() {
    let tree = private_namespace("max 100000\n");
    tree.mountinfo(&mountinfo(&[
        "31 24 0:28 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate",
        "40 22 0:28 /../../.. /host/sys/fs/cgroup ro - cgroup2 cgroup rw,nsdelegate",
    ]));
    let host = "host/sys/fs/cgroup";
    let scope = format!("cri-containerd-{ID}.scope");
    tree.file(&format!("{host}/cpu.stat"), "usage_usec 1\n");
    v2_group_at(&tree, &format!("{host}/kubepods.slice"), "max 100000");
    v2_group_at(&tree, &format!("{host}/kubepods.slice/{scope}"), "40000 100000");
    tree.process(7, &[&format!("0::/../../../kubepods.slice/{scope}")], "sibling");
    let e = look(&tree, "pid:7");
    assert_eq!(
        limits(&e),
        [
            "/../../.. root".to_owned(),
            "/../../../kubepods.slice none".to_owned(),
            format!("/../../../kubepods.slice/{scope} 0.4"),
        ]
    );
    // By id too: the mount that shows the most is the host's, though its root is written longest.
    assert_eq!(
        found(&tree, &format!("cri:{}", &ID[..12])),
        format!("v2 /../../../kubepods.slice/{scope}")
    );
    // The container's own group is still found through its own mount.
    assert_eq!(found(&tree, "self"), "v2 /");
}

/// On v1, or without a namespace, paths are the host's everywhere.
#[test]
fn of_two_mounts_the_one_that_shows_more_levels_is_taken() {
    let own = format!("/docker/{ID}");
    let tree = FakeTree::v1_joined();
    tree.mountinfo(&mountinfo(&[
        &format!("35 31 0:32 {own} /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct"),
        "50 22 0:32 / /host/cgroup/cpu ro - cgroup cgroup rw,cpu,cpuacct",
    ]));
    tree.group("/", |group| group.quota(100_000, 100_000)).reader_in(&own);
    v1_group_at(&tree, "host/cgroup/cpu", -1, 100_000);
    v1_group_at(&tree, "host/cgroup/cpu/docker", 80_000, 100_000);
    v1_group_at(&tree, &format!("host/cgroup/cpu/docker/{ID}"), 100_000, 100_000);
    v1_group_at(&tree, "host/cgroup/cpu/other", -1, 100_000);
    let e = look(&tree, "self");
    assert_eq!(effective(&e), "0.8 quota /docker");
    assert_eq!(e.levels.len(), 3);
    assert_eq!(loss(&e, "limits"), None, "nothing is hidden");
    assert_eq!(found(&tree, "cgroup:/other"), "v1:cpu /other");
    assert_eq!(found(&tree, "cgroup:/host/cgroup/cpu/other"), "v1:cpu /other");
}

/// A mount that is in the table and not on disk (another mount hides it) does not win.
#[test]
fn a_mount_that_is_hidden_by_another_is_passed_over() {
    let tree = FakeTree::v1_joined();
    tree.mountinfo(&mountinfo(&[
        "35 31 0:32 / /gone/cpu ro - cgroup cgroup rw,cpu,cpuacct",
        "36 31 0:32 / /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct",
    ]));
    tree.group("/a", |group| group.quota(10_000, 100_000)).group("/b.service", |group| group);
    assert_eq!(effective(&look(&tree, "cgroup:/a")), "0.1 quota /a");
    assert_eq!(found(&tree, "unit:b.service"), "v1:cpu /b.service");
}

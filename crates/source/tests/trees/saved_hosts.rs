//! A host's files below another directory: `--root`.

use unthrottle_source::capabilities::probe;
use unthrottle_source::mounts::CgroupFs;
use unthrottle_source::sweep::Sweep;
use unthrottle_source::{Root, host};
use unthrottle_testkit::FakeTree;

use crate::support::{found, limits, look};

#[test]
fn paths_of_the_machine_and_paths_below_the_root_mean_the_same() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group.quota(10_000, 100_000));
    assert_eq!(found(&tree, "cgroup:/sys/fs/cgroup/app"), "v2 /app");
    let below = tree.root().join("sys/fs/cgroup/app");
    assert_eq!(found(&tree, &format!("cgroup:{}", below.display())), "v2 /app");
    assert_eq!(found(&tree, "cgroup:app"), "v2 /app");
    assert_eq!(found(&tree, "cgroup:/sys/fs/cgroup"), "v2 /");
    assert_eq!(found(&tree, "cgroup:/"), "v2 /");
}

#[test]
fn facts_of_the_host_come_from_the_root_and_not_from_this_machine() {
    let tree = FakeTree::v1_split();
    tree.file("proc/sys/kernel/osrelease", "4.18.0-rc4\n")
        .file("sys/devices/system/cpu/online", "0-15,32-47\n")
        .file("proc/sys/kernel/sched_cfs_bandwidth_slice_us", "3000\n")
        .file("sys/kernel/sched_ext/state", "enabled\n");
    let facts = host::facts(&Root::at(tree.root()));
    assert_eq!(facts.kernel, "4.18.0-rc4");
    assert_eq!(facts.kernel_version, Some((4, 18)));
    assert_eq!(facts.cpus_online, 32);
    assert_eq!(facts.slice_us, Some(3000));
    assert_eq!(facts.sched_ext.as_deref(), Some("enabled"));
    assert_eq!(facts.hz, None, "saved files do not tell the tick of their machine");
}

#[test]
fn cpus_are_counted_in_proc_stat_where_sys_does_not_say() {
    let tree = FakeTree::v2();
    tree.remove("sys/devices/system/cpu/online");
    tree.file("proc/stat", "cpu  1 0 1 9\ncpu0 1 0 1 9\ncpu1 0 0 0 0\ncpu2 0 0 0 0\nintr 0\n");
    assert_eq!(host::facts(&Root::at(tree.root())).cpus_online, 3);
}

#[test]
fn doctor_counts_groups_and_names_what_is_missing() {
    let tree = FakeTree::v1_joined();
    tree.group("/a/limited", |group| group.quota(10_000, 100_000));
    tree.file("run/docker.sock", "");
    let facts = probe(&Root::at(tree.root()));
    assert_eq!(facts.groups, Some((3, 1)));
    assert_eq!(facts.own_group.as_deref(), Some("/"));
    assert_eq!(facts.runtimes, [("docker".to_owned(), "/run/docker.sock".to_owned())]);
    assert!(!facts.psi && !facts.stat_local && !facts.btf);
    let cpu = facts.mounts.iter().find(|mount| mount.point.ends_with("cpu,cpuacct"));
    let words = cpu.and_then(|mount| mount.controllers.clone()).expect("a v1 mount");
    assert_eq!(words, ["cpu", "cpuacct"], "options that are no controllers are left out");
}

#[test]
fn doctor_answers_for_a_directory_without_anything() {
    let empty = tempfile::tempdir().expect("a directory");
    let facts = probe(&Root::at(empty.path()));
    assert_eq!((facts.hierarchy, facts.groups, facts.own_group), (None, None, None));
}

#[test]
fn every_limited_group_is_swept_and_the_others_are_counted() {
    let tree = FakeTree::v2();
    tree.group("/a", |group| group.quota(10_000, 100_000).stat(5, 1, 7_000))
        .group("/a/b", |group| group)
        .group("/c:d e", |group| group.quota(200_000, 100_000));
    let fs = CgroupFs::discover(&Root::at(tree.root())).expect("cgroups");
    let mut sweep = Sweep::open(&fs);
    sweep.read();
    tree.group("/a", |group| group.stat(15, 4, 30_000_000));
    // One that is removed meanwhile takes nothing else with it.
    tree.remove_group("/c:d e");
    sweep.read();
    let paths: Vec<&str> = sweep.rows.groups.iter().map(|row| row.path.as_str()).collect();
    assert_eq!(paths, ["/a", "/c:d e"]);
    assert_eq!(sweep.unlimited, 2);
    let ranked = unthrottle_analysis::rank::rank(&sweep.rows);
    assert_eq!(ranked[0].level.group.path, "/a");
    assert_eq!(ranked[0].level.increase.counters.nr_throttled, Some(3));
}

/// Files of a group that are read once and never again change nothing for a look at all levels.
#[test]
fn a_static_copy_gives_limits_and_no_increase() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group.quota(50_000, 100_000).stat(40_031, 12_847, 98_800_000_000));
    let e = look(&tree, "cgroup:/app");
    assert_eq!(limits(&e), ["/ root", "/app 0.5"]);
    let counters = &e.levels[1].increase.counters;
    assert_eq!((counters.nr_periods, counters.nr_throttled), (Some(0), Some(0)));
}

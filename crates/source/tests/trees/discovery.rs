//! Which hierarchy carries the cpu controller, and where the reader is in it.

use unthrottle_testkit::FakeTree;

use crate::support::{effective, found, limits, look, mountinfo, v1_group_at, v2_group_at};

#[test]
fn each_layout_has_its_hierarchy() {
    for (tree, hierarchy) in [
        (FakeTree::v1_split(), "v1:cpu"),
        (FakeTree::v1_joined(), "v1:cpu"),
        (FakeTree::v2(), "v2"),
        (FakeTree::hybrid(), "v1:cpu"),
    ] {
        tree.group("/app", |group| group.quota(50_000, 100_000)).reader_in("/app");
        assert_eq!(found(&tree, "self"), format!("{hierarchy} /app"));
        let e = look(&tree, "self");
        assert_eq!(effective(&e), "0.5 quota /app", "{hierarchy}");
        assert_eq!(e.levels.len(), 2, "{hierarchy}");
    }
}

/// C026: systemd was built for hybrid and booted unified; only the mount knows.
#[test]
fn the_mount_decides_whatever_directories_are_called() {
    let tree = FakeTree::v2();
    tree.file("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "10000\n").reader_in("/");
    assert_eq!(found(&tree, "self"), "v2 /");
}

/// C010: the v2 line stands last, after v1 lines of other controllers.
#[test]
fn the_line_of_v2_is_found_after_lines_of_v1() {
    let tree = FakeTree::v2();
    tree.group("/kubepods/x", |group| group.quota(25_000, 100_000));
    tree.file("proc/self/cgroup", "2:memory:/elsewhere\n1:name=systemd:/y\n0::/kubepods/x\n");
    assert_eq!(effective(&look(&tree, "self")), "0.25 quota /kubepods/x");
}

/// C010: on a hybrid host the v1 line of the cpu controller counts, not the v2 line.
#[test]
fn the_line_of_the_cpu_controller_wins_on_a_hybrid_host() {
    let tree = FakeTree::hybrid();
    tree.group("/kubepods/x", |group| group.quota(25_000, 100_000));
    tree.file("proc/self/cgroup", "4:cpu,cpuacct:/kubepods/x\n0::/user.slice\n");
    assert_eq!(found(&tree, "self"), "v1:cpu /kubepods/x");
}

/// C010: `cpuacct,cpu` and `cpu,cpuacct` are the same hierarchy.
#[test]
fn the_order_of_controllers_in_a_line_does_not_matter() {
    for line in ["5:cpuacct,cpu:/kubepods/pod", "2:cpu,cpuacct:/kubepods/pod"] {
        let tree = FakeTree::v1_joined();
        tree.group("/kubepods/pod", |group| group.quota(100_000, 100_000));
        tree.file("proc/self/cgroup", &format!("{line}\n"));
        assert_eq!(found(&tree, "self"), "v1:cpu /kubepods/pod", "{line}");
    }
}

/// C011: a path keeps its own colons.
#[test]
fn paths_with_colons_stay_whole() {
    let tree = FakeTree::v1_joined();
    tree.group("/mesos/task:7/web", |group| group.quota(100_000, 100_000));
    tree.process(7, &["2:cpu,cpuacct:/mesos/task:7/web"], "web");
    assert_eq!(found(&tree, "pid:7"), "v1:cpu /mesos/task:7/web");
    assert_eq!(found(&tree, "cgroup:/mesos/task:7/web"), "v1:cpu /mesos/task:7/web");
    assert_eq!(found(&tree, "/mesos/task:7/web"), "v1:cpu /mesos/task:7/web");

    let tree = FakeTree::v2();
    tree.group("/system.slice/a:b.scope", |group| group);
    tree.process(7, &["0::/system.slice/a:b.scope"], "b");
    assert_eq!(found(&tree, "pid:7"), "v2 /system.slice/a:b.scope");
}

/// C013: the first word of a mount's source is free text.
#[test]
fn the_type_of_a_mount_decides_not_its_source() {
    let tree = FakeTree::v2();
    tree.mountinfo("31 24 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 none rw,nsdelegate\n");
    assert_eq!(found(&tree, "self"), "v2 /");
    tree.mountinfo("31 24 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup rw,nsdelegate\n");
    assert_eq!(found(&tree, "self"), "v2 /");
}

/// C014: none, one or several optional fields stand before the dash.
#[test]
fn optional_fields_of_a_mount_do_not_matter() {
    for optional in ["", " shared:9", " shared:9 master:3", " shared:9 master:3 propagate_from:2"] {
        let tree = FakeTree::v1_split();
        let line =
            format!("33 24 0:25 / /sys/fs/cgroup/cpu rw,relatime{optional} - cgroup cgroup rw,cpu");
        tree.mountinfo(&mountinfo(&[&line]));
        tree.group("/a", |group| group.quota(20_000, 100_000));
        assert_eq!(effective(&look(&tree, "cgroup:/a")), "0.2 quota /a", "{optional}");
    }
}

/// C016: three controllers on one mount; `cpu` is a word of its own in the list.
#[test]
fn three_controllers_share_one_mount() {
    let tree = FakeTree::v1_split();
    let at = "/sys/fs/cgroup/cpuset,cpu,cpuacct";
    tree.mountinfo(&mountinfo(&[&format!(
        "32 31 0:29 / {at} rw - cgroup cgroup rw,cpuset,cpu,cpuacct"
    )]));
    tree.file("proc/self/cgroup", "4:cpuset,cpu,cpuacct:/kubepods/x\n");
    v1_group_at(&tree, at, -1, 100_000);
    v1_group_at(&tree, &format!("{at}/kubepods"), -1, 100_000);
    v1_group_at(&tree, &format!("{at}/kubepods/x"), 150_000, 100_000);
    tree.file(&format!("{at}/kubepods/x/cpuacct.usage"), "5\n")
        .file(&format!("{at}/kubepods/x/cpuset.effective_cpus"), "0-2\n");
    let e = look(&tree, "self");
    assert_eq!(effective(&e), "1.5 quota /kubepods/x");
    assert_eq!(e.cpuset.as_ref().map(|row| row.cpus), Some(3));
    assert_eq!(e.levels[2].increase.counters.usage_ns, Some(0));
}

/// `cpuset` and `cpuacct` begin with `cpu` and are something else.
#[test]
fn other_controllers_are_not_taken_for_cpu() {
    let tree = FakeTree::v2();
    tree.mountinfo(&mountinfo(&[
        "33 31 0:30 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct",
        "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset",
        "35 31 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw",
    ]));
    tree.file("proc/self/cgroup", "2:cpuacct:/a\n1:cpuset:/b\n0::/c\n");
    v2_group_at(&tree, "sys/fs/cgroup/unified/c", "30000 100000");
    assert_eq!(effective(&look(&tree, "self")), "0.3 quota /c");
}

/// C028: memory was moved to v2 at boot; cpu stayed on v1.
#[test]
fn the_version_is_decided_for_the_cpu_controller_alone() {
    let tree = FakeTree::hybrid();
    tree.file("sys/fs/cgroup/unified/cgroup.controllers", "memory\n");
    tree.group("/app", |group| group.quota(75_000, 100_000)).reader_in("/app");
    let e = look(&tree, "self");
    assert_eq!(effective(&e), "0.75 quota /app");
    assert_eq!(e.meta.target.hierarchy.word(), "v1:cpu");
}

/// The other way round: cpu was moved to v2, the rest stayed on v1.
#[test]
fn cpu_on_v2_beside_v1_mounts_is_read_from_v2() {
    let tree = FakeTree::hybrid();
    tree.mountinfo(&mountinfo(&[
        "32 31 0:29 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate",
        "35 31 0:32 / /sys/fs/cgroup/cpuacct rw - cgroup cgroup rw,cpuacct",
        "36 31 0:33 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset",
    ]));
    tree.group("/app", |group| group.cpuset("0-1"));
    v2_group_at(&tree, "sys/fs/cgroup/unified/app", "300000 100000");
    tree.file("proc/self/cgroup", "3:cpuset:/app\n2:cpuacct:/app\n0::/app\n");
    let e = look(&tree, "self");
    assert_eq!(e.meta.target.hierarchy.word(), "v2");
    assert_eq!(limits(&e).last().map(String::as_str), Some("/app 3"));
    assert_eq!(effective(&e), "2 cpuset", "the cpuset is still on v1: {:?}", e.losses);
}

/// C029: a plain host with systemd; the process is deep in the tree, and no level has a limit.
#[test]
fn every_level_of_a_deep_path_is_listed() {
    let tree = FakeTree::v2();
    let path = "/user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope";
    tree.group(path, |group| group);
    tree.file("proc/self/cgroup", &format!("1:net_cls:/\n0::{path}\n"));
    let e = look(&tree, "self");
    insta::assert_snapshot!(limits(&e).join("\n"), @r"
    / root
    /user.slice none
    /user.slice/user-1000.slice none
    /user.slice/user-1000.slice/user@1000.service none
    /user.slice/user-1000.slice/user@1000.service/app.slice none
    /user.slice/user-1000.slice/user@1000.service/app.slice/app-x.scope none
    ");
    assert_eq!(effective(&e), "4 cpus");
}

/// C031: the controller is on, the kernel was built without CFS_BANDWIDTH.
#[test]
fn a_kernel_without_bandwidth_control_is_told_from_a_controller_that_is_off() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group).group("/off", |group| group);
    tree.remove("sys/fs/cgroup/app/cpu.max").remove("sys/fs/cgroup/app/cpu.max.burst");
    tree.file("sys/fs/cgroup/app/cpu.stat", "usage_usec 5\nuser_usec 5\nsystem_usec 0\n");
    for name in ["cpu.max", "cpu.max.burst", "cpu.weight"] {
        tree.remove(&format!("sys/fs/cgroup/off/{name}"));
    }
    assert_eq!(limits(&look(&tree, "cgroup:/app")), ["/ root", "/app no bandwidth"]);
    assert_eq!(limits(&look(&tree, "cgroup:/off")), ["/ root", "/off off"]);

    let tree = FakeTree::v1_split();
    tree.group("/app", |group| group);
    for name in ["cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.cfs_burst_us"] {
        tree.remove(&format!("sys/fs/cgroup/cpu/app/{name}"));
    }
    assert_eq!(limits(&look(&tree, "cgroup:/app")), ["/ none", "/app no bandwidth"]);
}

//! Hierarchies mounted where no one expects them, and groups with odd names.

use unthrottle_testkit::FakeTree;

use crate::support::{effective, found, limits, look, mountinfo, v1_group_at, v2_group_at};

#[test]
fn v1_may_be_mounted_anywhere() {
    let tree = FakeTree::v1_split();
    tree.mountinfo(&mountinfo(&[
        "32 22 0:29 / /cgroup/cpu rw - cgroup none rw,cpu",
        "33 22 0:30 / /dev/cpuacct rw - cgroup none rw,cpuacct",
    ]));
    v1_group_at(&tree, "cgroup/cpu", -1, 100_000);
    v1_group_at(&tree, "cgroup/cpu/app", 25_000, 100_000);
    tree.file("dev/cpuacct/app/cpuacct.usage", "7\n").file("dev/cpuacct/app/cgroup.procs", "");
    let e = look(&tree, "cgroup:/cgroup/cpu/app");
    assert_eq!(limits(&e), ["/ none", "/app 0.25"]);
    assert_eq!(e.levels[1].increase.counters.usage_ns, Some(0), "through the cpuacct mount");
    assert_eq!(found(&tree, "cgroup:/dev/cpuacct/app"), "v1:cpu /app");
}

#[test]
fn v2_may_be_mounted_anywhere() {
    let tree = FakeTree::v2();
    tree.mountinfo(&mountinfo(&["32 22 0:29 / /mnt/unified rw - cgroup2 none rw"]));
    tree.file("mnt/unified/cpu.stat", "usage_usec 1\n");
    v2_group_at(&tree, "mnt/unified/app", "25000 100000");
    assert_eq!(limits(&look(&tree, "cgroup:/mnt/unified/app")), ["/ root", "/app 0.25"]);
    assert_eq!(found(&tree, "cgroup:/app"), "v2 /app");
}

/// The kernel writes blanks of a mount point as `\040`.
#[test]
fn a_mount_point_with_a_blank_is_found() {
    let tree = FakeTree::v2();
    tree.mountinfo(&mountinfo(&[r"32 22 0:29 / /my\040groups\134x rw - cgroup2 none rw"]));
    v2_group_at(&tree, r"my groups\x/app", "25000 100000");
    assert_eq!(effective(&look(&tree, r"cgroup:/my groups\x/app")), "0.25 quota /app");
}

#[test]
fn names_with_blanks_colons_and_quotes_are_names() {
    for tree in [FakeTree::v1_split(), FakeTree::v2()] {
        for name in ["two words", "a:b:c", "x (deleted)y", "it's", r"dash\x2dname", "naïve-名前"]
        {
            let path = format!("/{name}/inner");
            tree.group(&path, |group| group.quota(10_000, 100_000));
            let e = look(&tree, &format!("cgroup:{path}"));
            assert_eq!(effective(&e), format!("0.1 quota {path}"));
            assert_eq!(e.levels.len(), 3, "{name}");
        }
    }
}

#[test]
fn a_process_in_a_group_with_an_odd_name_is_found() {
    let tree = FakeTree::v1_split();
    tree.group("/two words:x", |group| group.quota(10_000, 100_000));
    tree.process_in(7, "/two words:x", "odd");
    assert_eq!(found(&tree, "pid:7"), "v1:cpu /two words:x");
}

/// The group of a process may be removed with the process still in it (a zombie).
#[test]
fn the_mark_of_a_removed_group_is_no_part_of_its_path() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group);
    tree.process(7, &["0::/app (deleted)"], "zombie");
    assert_eq!(found(&tree, "pid:7"), "v2 /app");
}

/// On distributions `cpu` is a link to `cpu,cpuacct`, and people copy paths with it.
#[test]
fn a_link_to_the_mount_is_followed() {
    let tree = FakeTree::v1_joined();
    tree.group("/app", |group| group.quota(10_000, 100_000));
    let link = tree.root().join("sys/fs/cgroup/cpu");
    std::os::unix::fs::symlink("cpu,cpuacct", link).expect("a link");
    assert_eq!(found(&tree, "cgroup:/sys/fs/cgroup/cpu/app"), "v1:cpu /app");
    assert_eq!(found(&tree, "/sys/fs/cgroup/cpu/app/"), "v1:cpu /app");
}

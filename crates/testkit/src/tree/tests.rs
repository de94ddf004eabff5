//! The files are those that a kernel would show.

use std::io::Read as _;
use std::os::unix::fs::FileExt as _;

use super::*;

fn read(tree: &FakeTree, path: &str) -> String {
    fs::read_to_string(tree.root().join(path)).unwrap()
}

fn describe(group: Group) -> Group {
    group.quota(50_000, 100_000).burst_us(10_000).stat(10, 4, 123_456_789).usage_ns(2_000_000)
}

#[test]
fn v1_writes_each_controller_in_its_own_directory() {
    let tree = FakeTree::v1_split();
    tree.group("/a/b", |group| describe(group).procs(&[7, 8]).cpuset("0-1"));
    let file = |controller: &str, name: &str| {
        read(&tree, &format!("sys/fs/cgroup/{controller}/a/b/{name}"))
    };
    assert_eq!(file("cpu", "cpu.cfs_quota_us"), "50000\n");
    assert_eq!(file("cpu", "cpu.cfs_period_us"), "100000\n");
    assert!(file("cpu", "cpu.stat").contains("nr_throttled 4\nthrottled_time 123456789\n"));
    assert_eq!(file("cpuacct", "cpuacct.usage"), "2000000\n");
    assert_eq!(file("cpuset", "cpuset.cpus"), "0-1\n");
    for controller in ["cpu", "cpuacct", "cpuset"] {
        assert_eq!(file(controller, "tasks"), "7\n8\n");
    }
    assert_eq!(read(&tree, "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us"), "-1\n");
    assert!(!tree.directory("cpu", "a/b").join("cpuacct.usage").exists());
}

#[test]
fn v1_joined_writes_both_controllers_in_one_directory() {
    let tree = FakeTree::v1_joined();
    tree.group("/a", describe);
    let directory = "sys/fs/cgroup/cpu,cpuacct/a";
    assert_eq!(read(&tree, &format!("{directory}/cpuacct.usage")), "2000000\n");
    assert_eq!(read(&tree, &format!("{directory}/cpu.cfs_quota_us")), "50000\n");
}

#[test]
fn v2_writes_microseconds_and_the_root_has_no_limit() {
    let tree = FakeTree::v2();
    tree.group("/a", describe).group("/b", |group| group.shares(2));
    assert_eq!(read(&tree, "sys/fs/cgroup/a/cpu.max"), "50000 100000\n");
    assert_eq!(read(&tree, "sys/fs/cgroup/a/cpu.max.burst"), "10000\n");
    assert_eq!(
        read(&tree, "sys/fs/cgroup/a/cpu.stat"),
        "usage_usec 2000\nuser_usec 2000\nsystem_usec 0\nnr_periods 10\nnr_throttled 4\n\
         throttled_usec 123456\nnr_bursts 0\nburst_usec 0\n"
    );
    assert_eq!(read(&tree, "sys/fs/cgroup/a/cpu.weight"), "100\n");
    assert_eq!(read(&tree, "sys/fs/cgroup/b/cpu.weight"), "1\n");
    assert_eq!(read(&tree, "sys/fs/cgroup/b/cpu.max"), "max 100000\n");
    assert!(!tree.directory("cpu", "/").join("cpu.max").exists());
}

#[test]
fn a_change_keeps_the_rest_and_is_seen_by_an_open_descriptor() {
    let tree = FakeTree::v2();
    tree.group("/a", describe);
    let open = fs::File::open(tree.directory("cpu", "/a").join("cpu.stat")).unwrap();
    let mut before = String::new();
    (&open).read_to_string(&mut before).unwrap();
    tree.group("/a", |group| group.stat(20, 14, 2_000));
    let mut bytes = vec![0; 4096];
    let length = open.read_at(&mut bytes, 0).unwrap();
    let after = String::from_utf8_lossy(&bytes[..length]).into_owned();
    assert!(after.contains("nr_periods 20\nnr_throttled 14\nthrottled_usec 2\n"), "{after}");
    assert_eq!(before.lines().count(), after.lines().count());
    assert_eq!(read(&tree, "sys/fs/cgroup/a/cpu.max"), "50000 100000\n");
}

#[test]
fn a_file_set_as_it_is_wins() {
    let tree = FakeTree::v1_split();
    tree.group("/a", |group| {
        group.file("cpu.stat", "odd 1\n").file("cpuacct.stat", "user 1\n").file("x", "y")
    });
    assert_eq!(read(&tree, "sys/fs/cgroup/cpu/a/cpu.stat"), "odd 1\n");
    assert_eq!(read(&tree, "sys/fs/cgroup/cpuacct/a/cpuacct.stat"), "user 1\n");
    assert_eq!(read(&tree, "sys/fs/cgroup/cpu/a/x"), "y");
}

#[test]
fn a_cpuset_holds_for_the_groups_below() {
    let tree = FakeTree::v2();
    tree.group("/a", |group| group.cpuset("1")).group("/a/b/c", |group| group);
    assert_eq!(read(&tree, "sys/fs/cgroup/a/b/c/cpuset.cpus.effective"), "1\n");
    assert_eq!(read(&tree, "sys/fs/cgroup/a/b/c/cpuset.cpus"), "\n");
}

#[test]
fn processes_and_the_reader_are_in_their_groups() {
    let tree = FakeTree::hybrid();
    tree.process(7, &["4:cpu,cpuacct:/x", "0::/y"], "web").process_in(8, "/z", "db");
    tree.reader_in("/me");
    assert_eq!(read(&tree, "proc/7/cgroup"), "4:cpu,cpuacct:/x\n0::/y\n");
    assert_eq!(read(&tree, "proc/7/task/7/comm"), "web\n");
    assert!(read(&tree, "proc/8/cgroup").contains("4:cpu,cpuacct:/z\n"));
    assert!(read(&tree, "proc/self/cgroup").ends_with("0::/me\n"));
}

#[test]
fn a_group_can_vanish_and_a_tree_cleans_up() {
    let tree = FakeTree::v1_split();
    tree.group("/a/b", describe).group("/ab", describe).remove_group("/a");
    assert!(!tree.directory("cpu", "/a").exists());
    assert!(!tree.directory("cpuacct", "/a").exists());
    assert!(tree.directory("cpu", "/ab").exists());
    tree.group("/a", |group| group);
    assert_eq!(read(&tree, "sys/fs/cgroup/cpu/a/cpu.cfs_quota_us"), "-1\n");
    let root = tree.root().to_owned();
    drop(tree);
    assert!(!root.exists());
}

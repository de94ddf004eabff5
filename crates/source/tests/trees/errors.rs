//! Every error names the file or the target, and a next step.

use unthrottle_testkit::FakeTree;

use crate::support::{find, mountinfo, refused};

#[test]
fn no_mount_table() {
    let tree = FakeTree::v2();
    tree.remove("proc/self/mountinfo");
    insta::assert_snapshot!(refused(&tree, "self"), @r"
    Machine: cannot read `ROOT/proc/self/mountinfo`
    No such file or directory (os error 2)
    hint: see what this machine shows with `unthrottle doctor`; in a container, mount the host's /proc and /sys and name their parent with `--root DIR`
    ");
}

/// C020: the mounts are there and only another mount namespace shows them.
#[test]
fn no_cgroup_mount() {
    let tree = FakeTree::v2();
    tree.mountinfo(&mountinfo(&["40 22 0:40 / /tmp rw - tmpfs cgroup2 rw"]));
    insta::assert_snapshot!(refused(&tree, "self"), @r"
    Machine: no cgroup mount with the cpu controller in `ROOT/proc/self/mountinfo`
    hint: see what this machine shows with `unthrottle doctor`; in a container, mount the host's /proc and /sys and name their parent with `--root DIR`
    ");
}

#[test]
fn only_mounts_of_other_controllers() {
    let tree = FakeTree::v1_split();
    tree.mountinfo(&mountinfo(&[
        "33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory",
    ]));
    insta::assert_snapshot!(refused(&tree, "self"), @r"
    Machine: no cgroup mount with the cpu controller in `ROOT/proc/self/mountinfo`
    hint: see what this machine shows with `unthrottle doctor`; in a container, mount the host's /proc and /sys and name their parent with `--root DIR`
    ");
}

/// C037: a kernel without the controller.
#[test]
fn a_process_without_a_line_for_the_cpu_controller() {
    let tree = FakeTree::v1_split();
    tree.process(7, &["3:memory:/a", "1:name=systemd:/b"], "x");
    insta::assert_snapshot!(refused(&tree, "pid:7"), @r"
    Machine: `ROOT/proc/7/cgroup` has no line for the cpu controller
    hint: the cpu controller is off in this kernel or for this process, so no quota applies
    ");
}

#[test]
fn no_such_process() {
    insta::assert_snapshot!(refused(&FakeTree::v2(), "pid:7"), @r"
    User: no process 7
    hint: check the id with `ps`; in a container only its own processes are seen
    ");
}

#[test]
fn no_such_group() {
    insta::assert_snapshot!(refused(&FakeTree::v2(), "cgroup:/nowhere"), @r"
    User: no group `/nowhere` in the v2 hierarchy (looked for `ROOT/sys/fs/cgroup/nowhere`)
    hint: list the limited groups with `unthrottle top --once`
    ");
    insta::assert_snapshot!(refused(&FakeTree::v1_split(), "cgroup:/sys/fs/cgroup/cpu/nowhere"), @r"
    User: no group `/nowhere` in the v1:cpu hierarchy (looked for `ROOT/sys/fs/cgroup/cpu/nowhere`)
    hint: list the limited groups with `unthrottle top --once`
    ");
}

#[test]
fn a_group_outside_of_what_is_mounted() {
    let tree = FakeTree::v2();
    tree.mountinfo(&mountinfo(&["31 24 0:28 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup rw"]));
    insta::assert_snapshot!(refused(&tree, "cgroup:/docker/y"), @r"
    Machine: group `/docker/y` lies outside what the v2 mount shows (its root is `/docker/x`)
    hint: this process is in a cgroup namespace or container that hides the group: run on the host, or mount the host's /proc and /sys and use `--root DIR`
    ");
}

#[test]
fn nothing_is_called_so() {
    insta::assert_snapshot!(refused(&FakeTree::v2(), "web"), @r"
    User: nothing matches `web`: no process, container id, unit or group is called so
    hint: list the limited groups with `unthrottle top --once`
    ");
}

#[test]
fn no_running_container_has_this_id() {
    insta::assert_snapshot!(refused(&FakeTree::v2(), "docker:4f2a91c07d3b"), @r"
    User: nothing matches `docker:4f2a91c07d3b`: no running docker container in the cpu hierarchy begins with `4f2a91c07d3b`
    hint: a stopped container has no group; list the limited groups with `unthrottle top --once`
    ");
}

#[test]
fn a_container_by_name() {
    insta::assert_snapshot!(refused(&FakeTree::v2(), "docker:web"), @r"
    User: `docker:web` is not a target: a container is found by its id, at least 4 hexadecimal digits
    hint: get the id with `docker inspect -f '{{.Id}}' web`
    ");
    insta::assert_snapshot!(refused(&FakeTree::v2(), "cri:web"), @r"
    User: `cri:web` is not a target: a container is found by its id, at least 4 hexadecimal digits
    hint: get the id with `crictl ps --no-trunc`
    ");
}

#[test]
fn texts_that_are_no_targets() {
    let tree = FakeTree::v2();
    let all: Vec<String> =
        ["", "pid:", "pid:0", "pid:-1", "pid:99999999999", "pods:x", "unit:", "cgroup:"]
            .iter()
            .map(|text| refused(&tree, text))
            .collect();
    insta::assert_snapshot!(all.join("\n"), @r"
    User: `` is not a target: it names nothing
    hint: say `docker:ID`, `podman:ID`, `cri:ID`, `unit:NAME`, `pid:N`, `cgroup:PATH`, `self`
    User: `pid:` is not a target: it names nothing
    hint: say `docker:ID`, `podman:ID`, `cri:ID`, `unit:NAME`, `pid:N`, `cgroup:PATH`, `self`
    User: `pid:0` is not a target: `0` is not a process id
    hint: find it with `ps` or `pgrep`
    User: `pid:-1` is not a target: `-1` is not a process id
    hint: find it with `ps` or `pgrep`
    User: `pid:99999999999` is not a target: `99999999999` is not a process id
    hint: find it with `ps` or `pgrep`
    User: `pods:x` is not a target: `pods:` is no kind of target
    hint: say `docker:ID`, `podman:ID`, `cri:ID`, `unit:NAME`, `pid:N`, `cgroup:PATH`, `self`
    User: `unit:` is not a target: it names nothing
    hint: say `docker:ID`, `podman:ID`, `cri:ID`, `unit:NAME`, `pid:N`, `cgroup:PATH`, `self`
    User: `cgroup:` is not a target: it names nothing
    hint: say `docker:ID`, `podman:ID`, `cri:ID`, `unit:NAME`, `pid:N`, `cgroup:PATH`, `self`
    ");
}

/// Directory names come from anywhere: they must not steer the terminal of who reads the error.
#[test]
fn names_in_errors_do_not_steer_a_terminal() {
    let tree = FakeTree::v2();
    for parent in ["/a\u{1b}[31m", "/b\u{202e}", "/c\rd"] {
        tree.group(&format!("{parent}/evil.service"), |group| group);
    }
    let error = find(&tree, "unit:evil").expect_err("ambiguous").to_string();
    let bad: Vec<char> =
        error.chars().filter(|c| (c.is_control() && *c != '\n') || *c == '\u{202e}').collect();
    assert_eq!(bad, [], "{error:?}");
    assert_eq!(error.lines().count(), 4, "{error:?}");
}

//! From what people type to one group: processes, paths, containers, words.

use unthrottle_testkit::FakeTree;

use crate::support::{find, found, refused};

const ID: &str = "4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a";
/// Begins with the same six digits.
const OTHER: &str = "4f2a91ffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";

#[test]
fn a_process_is_found_by_its_id() {
    for tree in [FakeTree::v1_split(), FakeTree::v1_joined(), FakeTree::v2(), FakeTree::hybrid()] {
        tree.group("/app", |group| group.procs(&[42])).process_in(42, "/app", "app");
        assert!(found(&tree, "pid:42").ends_with(" /app"));
        // A number alone is tried as each, and only a process is called so.
        assert!(found(&tree, "42").ends_with(" /app"));
    }
}

#[test]
fn a_path_below_any_mount_names_the_same_group() {
    let tree = FakeTree::hybrid();
    tree.group("/app/x", |group| group);
    for path in [
        "/sys/fs/cgroup/cpu,cpuacct/app/x",
        "/sys/fs/cgroup/cpuset/app/x",
        "/sys/fs/cgroup/systemd/app/x",
        "/sys/fs/cgroup/unified/app/x/",
        "/app/x",
        "app/x",
    ] {
        assert_eq!(found(&tree, &format!("cgroup:{path}")), "v1:cpu /app/x");
        assert_eq!(found(&tree, path), "v1:cpu /app/x", "as a word");
    }
    let tree = FakeTree::v1_split();
    tree.group("/app/x", |group| group);
    assert_eq!(found(&tree, "cgroup:/sys/fs/cgroup/cpuacct/app/x"), "v1:cpu /app/x");
}

#[test]
fn a_docker_container_is_found_by_the_beginning_of_its_id_with_both_drivers() {
    let tree = FakeTree::v1_joined();
    let cgroupfs = format!("/docker/{ID}");
    tree.group(&cgroupfs, |group| group);
    for prefix in [&ID[..4], &ID[..12], ID, &ID[..12].to_uppercase()] {
        assert_eq!(found(&tree, &format!("docker:{prefix}")), format!("v1:cpu {cgroupfs}"));
        assert_eq!(found(&tree, prefix), format!("v1:cpu {cgroupfs}"), "as a word");
    }
    let tree = FakeTree::v2();
    let systemd = format!("/system.slice/docker-{ID}.scope");
    tree.group(&systemd, |group| group);
    assert_eq!(found(&tree, &format!("docker:{}", &ID[..12])), format!("v2 {systemd}"));
    let (_, resolved) = find(&tree, &format!("docker:{}", &ID[..12])).expect("found");
    assert_eq!(resolved.facts.name, format!("docker:{}", &ID[..12]));
    assert_eq!(resolved.facts.runtime.as_deref(), Some("docker"));
}

#[test]
fn groups_below_a_container_do_not_make_it_ambiguous() {
    let tree = FakeTree::v2();
    let scope = format!("/system.slice/docker-{ID}.scope");
    tree.group(&format!("{scope}/init"), |group| group);
    tree.group(&format!("{scope}/system.slice/sshd.service"), |group| group);
    assert_eq!(found(&tree, &format!("docker:{}", &ID[..8])), format!("v2 {scope}"));
}

#[test]
fn a_part_of_a_container_is_named_as_such() {
    let tree = FakeTree::v2();
    let scope = format!("/system.slice/docker-{ID}.scope");
    tree.group(&format!("{scope}/init"), |group| group);
    let (_, resolved) = find(&tree, &format!("cgroup:{scope}/init")).expect("found");
    assert_eq!(resolved.facts.name, format!("docker:{} init", &ID[..12]));
}

#[test]
fn an_id_that_begins_several_is_ambiguous_and_lists_them() {
    let tree = FakeTree::v1_joined();
    tree.group(&format!("/docker/{ID}"), |group| group);
    tree.group(&format!("/docker/{OTHER}"), |group| group);
    insta::assert_snapshot!(refused(&tree, "docker:4f2a91"), @r"
    User: `docker:4f2a91` matches 2 groups:
      cgroup:/docker/4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a
      cgroup:/docker/4f2a91ffffffffffffffffffffffffffffffffffffffffffffffffffffffffff
    hint: name one of them
    ");
    insta::assert_snapshot!(refused(&tree, "4f2a91"), @r"
    User: `4f2a91` matches 2 groups:
      docker:4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a
      docker:4f2a91ffffffffffffffffffffffffffffffffffffffffffffffffffffffffff
    hint: name one of them
    ");
    assert!(found(&tree, "docker:4f2a91c").contains(ID), "one digit more tells them apart");
}

#[test]
fn a_podman_container_and_a_pods_container_have_their_own_words() {
    let tree = FakeTree::v2();
    let podman = format!("/machine.slice/libpod-{ID}.scope");
    let cri = format!("/kubepods.slice/kubepods-pod1.slice/cri-containerd-{OTHER}.scope");
    tree.group(&podman, |group| group).group(&cri, |group| group);
    assert_eq!(found(&tree, &format!("podman:{}", &ID[..8])), format!("v2 {podman}"));
    assert_eq!(found(&tree, &format!("cri:{}", &OTHER[..8])), format!("v2 {cri}"));
    insta::assert_snapshot!(refused(&tree, &format!("docker:{}", &ID[..12])), @r"
    User: nothing matches `docker:4f2a91c07d3b`: no running docker container in the cpu hierarchy begins with `4f2a91c07d3b`
    hint: a stopped container has no group; list the limited groups with `unthrottle top --once`
    ");
}

#[test]
fn a_bare_word_is_tried_as_each() {
    let tree = FakeTree::v2();
    tree.group("/system.slice/nginx.service", |group| group);
    tree.group("/batch", |group| group);
    assert_eq!(found(&tree, "nginx"), "v2 /system.slice/nginx.service");
    assert_eq!(found(&tree, "nginx.service"), "v2 /system.slice/nginx.service");
    assert_eq!(found(&tree, "batch"), "v2 /batch");
}

#[test]
fn a_bare_word_that_means_several_things_lists_them_as_targets() {
    let tree = FakeTree::v2();
    tree.group("/1234", |group| group);
    tree.group("/app", |group| group.procs(&[1234])).process_in(1234, "/app", "app");
    tree.group("/system.slice/1234.service", |group| group);
    insta::assert_snapshot!(refused(&tree, "1234"), @r"
    User: `1234` matches 3 groups:
      pid:1234
      cgroup:/system.slice/1234.service
      cgroup:/1234
    hint: name one of them
    ");
    // Each line can be typed as it stands.
    for target in ["pid:1234", "cgroup:/1234", "cgroup:/system.slice/1234.service"] {
        found(&tree, target);
    }
}

#[test]
fn a_word_that_means_one_group_in_two_ways_is_not_ambiguous() {
    let tree = FakeTree::v2();
    tree.group("/77", |group| group.procs(&[77])).process_in(77, "/77", "same");
    assert_eq!(found(&tree, "77"), "v2 /77");
}

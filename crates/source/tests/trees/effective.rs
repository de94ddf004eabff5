//! The effective limit: the smallest quota of all levels, or the CPUs that may be used.

use unthrottle_testkit::FakeTree;

use crate::support::{effective, limits, look};

/// What both versions say of a group `/app` with this quota.
fn of_quota(quota_us: u64, period_us: u64) -> Vec<String> {
    [FakeTree::v1_joined(), FakeTree::v2()]
        .iter()
        .map(|tree| {
            tree.file("sys/devices/system/cpu/online", "0-63\n");
            tree.group("/", |group| group.cpuset("0-63"));
            tree.group("/app", |group| group.quota(quota_us, period_us));
            effective(&look(tree, "cgroup:/app"))
        })
        .collect()
}

/// C008, C086, C128, C130: the period is read, and never taken for 100 ms.
#[test]
fn a_limit_is_quota_by_period() {
    for (quota_us, period_us, cores) in [
        (100_000, 100_000, "1"),
        (50_000, 20_000, "2.5"),
        (100_000, 200_000, "0.5"),
        (218_803, 100_000, "2.18803"),
        (1_000, 1_000_000, "0.001"),
    ] {
        let expected = format!("{cores} quota /app");
        assert_eq!(of_quota(quota_us, period_us), [expected.clone(), expected]);
    }
}

/// C128: -1 is no limit, whatever the period is.
#[test]
fn minus_one_and_max_are_no_limit() {
    let v1 = FakeTree::v1_split();
    v1.group("/app", |group| group.file("cpu.cfs_period_us", "200000\n"));
    assert_eq!(limits(&look(&v1, "cgroup:/app")), ["/ none", "/app none"]);
    let v2 = FakeTree::v2();
    v2.group("/app", |group| group.file("cpu.max", "max 200000\n"));
    assert_eq!(limits(&look(&v2, "cgroup:/app")), ["/ root", "/app none"]);
}

/// C001: a vendor's kernel writes a third field.
#[test]
fn a_third_field_of_cpu_max_is_left_alone() {
    let tree = FakeTree::v2();
    tree.group("/a", |group| group.file("cpu.max", "max 100000 0\n"));
    tree.group("/b", |group| group.file("cpu.max", "50000 100000 7000\n"));
    assert_eq!(limits(&look(&tree, "cgroup:/a")), ["/ root", "/a none"]);
    let b = look(&tree, "cgroup:/b");
    assert_eq!(limits(&b), ["/ root", "/b 0.5"]);
    let quota = b.levels[1].limit().and_then(|limit| match limit {
        unthrottle_model::rows::LimitState::Limit(limit) => limit.quota().copied(),
        unthrottle_model::rows::LimitState::None(_) => None,
    });
    assert_eq!(quota.map(|quota| quota.burst_us), Some(0));
}

/// C038: the task has the quota, the container in it has none.
#[test]
fn a_task_limits_its_unlimited_container() {
    let tree = FakeTree::v1_joined();
    tree.group("/ecs/task", |group| group.quota(100_000, 100_000));
    tree.group("/ecs/task/container", |group| group);
    let e = look(&tree, "cgroup:/ecs/task/container");
    assert_eq!(limits(&e), ["/ none", "/ecs none", "/ecs/task 1", "/ecs/task/container none"]);
    assert_eq!(effective(&e), "1 quota /ecs/task");
}

/// C040: the process sits in an `init` leaf without a limit.
#[test]
fn a_leaf_without_limit_does_not_hide_its_pod() {
    let tree = FakeTree::v2();
    tree.group("/pod", |group| group.quota(200_000, 100_000));
    tree.group("/pod/init", |group| group).group("/pod/dind/x", |group| group);
    tree.reader_in("/pod/init");
    assert_eq!(effective(&look(&tree, "self")), "2 quota /pod");
}

/// C041: the leaf has no cpu.max at all, or `max`.
#[test]
fn a_leaf_without_the_file_and_a_leaf_with_max_are_bound_alike() {
    let tree = FakeTree::v2();
    tree.file("sys/devices/system/cpu/online", "0-15\n");
    tree.group("/", |group| group.cpuset("0-15"));
    tree.group("/parent", |group| group.quota(400_000, 100_000));
    tree.group("/parent/off", |group| group).group("/parent/max", |group| group);
    for name in ["cpu.max", "cpu.max.burst", "cpu.weight"] {
        tree.remove(&format!("sys/fs/cgroup/parent/off/{name}"));
    }
    let off = look(&tree, "cgroup:/parent/off");
    assert_eq!(limits(&off), ["/ root", "/parent 4", "/parent/off off"]);
    assert_eq!(effective(&off), "4 quota /parent");
    let max = look(&tree, "cgroup:/parent/max");
    assert_eq!(limits(&max), ["/ root", "/parent 4", "/parent/max none"]);
    assert_eq!(effective(&max), "4 quota /parent");
}

/// C043: v2 takes a child's quota above its parent's.
#[test]
fn a_child_cannot_have_more_than_its_parent() {
    let tree = FakeTree::v2();
    tree.group("/parent", |group| group.quota(360_000, 100_000));
    tree.group("/parent/child", |group| group.quota(370_000, 100_000));
    let e = look(&tree, "cgroup:/parent/child");
    assert_eq!(limits(&e), ["/ root", "/parent 3.6", "/parent/child 3.7"]);
    assert_eq!(effective(&e), "3.6 quota /parent");
}

/// Where two levels have the same limit, the outer one is named: it holds for all of them.
#[test]
fn of_two_equal_quotas_the_outer_one_is_named() {
    let tree = FakeTree::v2();
    tree.group("/pod", |group| group.quota(50_000, 100_000));
    tree.group("/pod/container", |group| group.quota(100_000, 200_000));
    assert_eq!(effective(&look(&tree, "cgroup:/pod/container")), "0.5 quota /pod");
}

/// C049: the container's quota is -1 though its pod has 8 cores, or has none either.
#[test]
fn a_container_without_quota_takes_its_pods_or_none() {
    for (pod_us, expected) in [(Some(800_000), "8 quota /kubepods/pod"), (None, "16 cpus")] {
        let tree = FakeTree::v1_joined();
        tree.file("sys/devices/system/cpu/online", "0-15\n");
        tree.group("/", |group| group.cpuset("0-15"));
        tree.group("/kubepods/pod", |group| match pod_us {
            Some(quota_us) => group.quota(quota_us, 100_000),
            None => group,
        });
        tree.group("/kubepods/pod/ctr", |group| group);
        assert_eq!(effective(&look(&tree, "cgroup:/kubepods/pod/ctr")), expected);
    }
}

/// C079: CPUs were added to the machine, and the inherited cpuset still names the first two.
#[test]
fn a_cpuset_narrower_than_the_machine_is_the_limit() {
    for tree in [FakeTree::v1_joined(), FakeTree::v2()] {
        tree.file("sys/devices/system/cpu/online", "0-7\n");
        tree.group("/", |group| group.cpuset("0-7"));
        tree.group("/docker", |group| group.cpuset("0-1")).group("/docker/x", |group| group);
        let e = look(&tree, "cgroup:/docker/x");
        assert_eq!(effective(&e), "2 cpuset");
        assert_eq!(e.cpuset.as_ref().map(|row| row.list.as_str()), Some("0-1"));
    }
}

#[test]
fn a_cpuset_narrower_than_the_quota_wins_and_stops_nobody() {
    for tree in [FakeTree::v1_split(), FakeTree::v2()] {
        tree.group("/app", |group| group.quota(300_000, 100_000).cpuset("1,3"));
        let e = look(&tree, "cgroup:/app");
        assert_eq!(effective(&e), "2 cpuset");
        assert!(!e.throttled());
    }
}

#[test]
fn a_quota_equal_to_the_cpuset_is_named_as_the_quota() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group.quota(200_000, 100_000).cpuset("0-1"));
    assert_eq!(effective(&look(&tree, "cgroup:/app")), "2 quota /app");
}

#[test]
fn a_quota_above_the_machine_is_bounded_by_its_cpus() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group.quota(6_400_000, 100_000));
    assert_eq!(effective(&look(&tree, "cgroup:/app")), "4 cpus");
}

/// On v1 the process is where its own line says in the cpuset hierarchy, not at the same path.
#[test]
fn the_cpuset_of_v1_is_that_of_a_process_of_the_group() {
    let tree = FakeTree::v1_split();
    tree.group("/app", |group| group.procs(&[7]).cpuset("0-3"));
    tree.group("/elsewhere", |group| group.cpuset("2"));
    tree.process(7, &["3:cpuset:/elsewhere", "2:cpuacct:/app", "1:cpu:/app"], "app");
    let e = look(&tree, "cgroup:/app");
    assert_eq!(effective(&e), "1 cpuset");
    assert_eq!(e.cpuset.as_ref().map(|row| row.path.as_str()), Some("/elsewhere"));
}

/// No kernel takes a quota of nothing, so such a file is damaged and no limit of 0 cores.
#[test]
fn limits_that_cannot_be_are_unreadable() {
    let v2 = FakeTree::v2();
    for text in ["", "0 100000\n", "50000 0\n", "-5 100000\n", "maximum 100000\n", "max x\n"] {
        v2.group("/app", |group| group.file("cpu.max", text));
        assert_eq!(limits(&look(&v2, "cgroup:/app")), ["/ root", "/app unreadable"], "{text:?}");
    }
    let v1 = FakeTree::v1_split();
    for (quota, period) in [("", "100000"), ("0", "100000"), ("50000", "0"), ("50000", "x")] {
        v1.group("/app", |group| {
            group.file("cpu.cfs_quota_us", quota).file("cpu.cfs_period_us", period)
        });
        assert_eq!(limits(&look(&v1, "cgroup:/app")), ["/ none", "/app unreadable"], "{quota}");
    }
}

//! Which level stopped the target: its own, a parent's, several, none, one that is not seen.

use unthrottle_analysis::{FindingVerdict, Verdict};
use unthrottle_testkit::FakeTree;

use crate::support::{
    accepted, binding, counted, effective, explain, finding, level_at, limits, loss, mountinfo,
};

/// Both versions, with a pod of 1 core and a container of 0.5 in it.
fn pods() -> [FakeTree; 3] {
    let trees = [FakeTree::v1_split(), FakeTree::v1_joined(), FakeTree::v2()];
    for tree in &trees {
        tree.group("/pod", |group| group.quota(100_000, 100_000).stat(1_000, 400, 9_000_000));
        tree.group("/pod/ctr", |group| group.quota(50_000, 100_000).stat(900, 300, 8_000_000));
    }
    trees
}

#[test]
fn throttled_at_the_leaf_alone() {
    for tree in pods() {
        let e = explain(
            &tree,
            "cgroup:/pod/ctr",
            &[&|tree| {
                tree.group("/pod", |group| group.stat(1_010, 400, 9_000_000).usage_ns(300_000_000));
                tree.group("/pod/ctr", |group| {
                    group.stat(908, 303, 158_000_000).usage_ns(300_000_000)
                });
            }],
        );
        assert_eq!(e.verdict, Verdict::Throttled);
        assert_eq!(binding(&e), ["/pod/ctr"]);
        assert_eq!(counted(&e, "/pod/ctr"), "3 of 8");
        assert_eq!(counted(&e, "/pod"), "0 of 10");
        assert_eq!(level_at(&e, "/pod/ctr").throttle_ratio(), Some(0.375));
        assert_eq!(level_at(&e, "/pod/ctr").increase.counters.throttled_ns, Some(150_000_000));
        assert_eq!(accepted(&e), ["quota"]);
        assert_eq!(effective(&e), "0.5 quota /pod/ctr");
    }
}

/// The child's own counters stand still (the kernel counts at the group whose quota it was).
#[test]
fn throttled_at_the_parent_alone() {
    for tree in pods() {
        let e = explain(
            &tree,
            "cgroup:/pod/ctr",
            &[&|tree| {
                tree.group("/pod", |group| {
                    group.stat(1_006, 406, 99_000_000).usage_ns(600_000_000)
                });
            }],
        );
        assert_eq!(e.verdict, Verdict::Throttled);
        assert_eq!(binding(&e), ["/pod"]);
        assert_eq!(counted(&e, "/pod/ctr"), "0 of 0");
        assert_eq!(accepted(&e), ["quota", "parent_limit"]);
        assert_eq!(effective(&e), "0.5 quota /pod/ctr", "computed, not observed");
    }
}

#[test]
fn throttled_at_both_levels() {
    for tree in pods() {
        let e = explain(
            &tree,
            "cgroup:/pod/ctr",
            &[&|tree| {
                tree.group("/pod", |group| {
                    group.stat(1_010, 403, 99_000_000).usage_ns(900_000_000)
                });
                tree.group("/pod/ctr", |group| {
                    group.stat(910, 308, 200_000_000).usage_ns(450_000_000)
                });
            }],
        );
        assert_eq!(binding(&e), ["/pod", "/pod/ctr"]);
        assert_eq!(accepted(&e), ["quota", "parent_limit"]);
    }
}

#[test]
fn an_unlimited_target_is_stopped_by_a_parent_two_levels_up() {
    for tree in [FakeTree::v1_split(), FakeTree::v2()] {
        tree.group("/a", |group| group.quota(20_000, 100_000)).group("/a/b/c", |group| group);
        let e = explain(
            &tree,
            "cgroup:/a/b/c",
            &[&|tree| {
                tree.group("/a", |group| group.stat(5, 5, 400_000_000).usage_ns(100_000_000));
            }],
        );
        assert_eq!(e.verdict, Verdict::Throttled);
        assert_eq!(binding(&e), ["/a"]);
        assert!(loss(&e, "counters.throttle_ratio").is_some_and(|why| why.starts_with("no_limit")));
    }
}

/// Idle is not "0 % throttled": there was no period to count.
#[test]
fn an_idle_limited_group_has_no_ratio() {
    for tree in [FakeTree::v1_split(), FakeTree::v2()] {
        tree.group("/app", |group| group.quota(50_000, 100_000).stat(8_123, 12, 5_000));
        let e = explain(&tree, "cgroup:/app", &[&|_| ()]);
        assert_eq!(e.verdict, Verdict::NotThrottled);
        let app = level_at(&e, "/app");
        assert_eq!((app.throttle_ratio(), app.increase.counters.nr_throttled), (None, Some(0)));
        let why = loss(&e, "counters.throttle_ratio").expect("a reason");
        assert!(why.starts_with("no_active_period"), "{why}");
        assert_eq!(finding(&e, "quota"), Some(FindingVerdict::Rejected));
    }
}

#[test]
fn an_active_limited_group_that_was_never_stopped_has_a_ratio_of_zero() {
    for tree in [FakeTree::v1_split(), FakeTree::v2()] {
        tree.group("/app", |group| group.quota(50_000, 100_000));
        let e = explain(
            &tree,
            "cgroup:/app",
            &[&|tree| {
                tree.group("/app", |group| group.stat(60, 0, 0).usage_ns(90_000_000));
            }],
        );
        assert_eq!(e.verdict, Verdict::NotThrottled);
        assert_eq!(level_at(&e, "/app").throttle_ratio(), Some(0.0));
        assert_eq!(loss(&e, "counters.throttle_ratio"), None);
    }
}

#[test]
fn no_limit_anywhere_is_its_own_answer() {
    for tree in [FakeTree::v1_split(), FakeTree::v2()] {
        tree.group("/a/b", |group| group);
        let e = explain(
            &tree,
            "cgroup:/a/b",
            &[&|tree| {
                tree.group("/a/b", |group| group.usage_ns(90_000_000));
            }],
        );
        assert_eq!(e.verdict, Verdict::NotThrottled);
        assert_eq!(level_at(&e, "/a/b").throttle_ratio(), None);
        assert_eq!(level_at(&e, "/a/b").increase.counters.usage_ns, Some(90_000_000));
        assert_eq!(accepted(&e), [""; 0]);
        assert!(loss(&e, "counters.throttle_ratio").is_some_and(|why| why.starts_with("no_limit")));
    }
}

/// A view from a container on v2: its own group is the root of the mount.
fn hidden_levels() -> FakeTree {
    let tree = FakeTree::v2();
    tree.mountinfo(&mountinfo(&[
        "31 24 0:28 /pod/ctr /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw",
    ]));
    tree.group("/", |group| {
        group
            .file("cpu.max", "max 100000\n")
            .file("cgroup.type", "domain\n")
            .file("cpu.stat.local", "throttled_usec 1000\n")
    });
    tree.reader_in("/pod/ctr");
    tree
}

#[test]
fn a_hidden_level_shows_in_cpu_stat_local() {
    let tree = hidden_levels();
    let e = explain(
        &tree,
        "self",
        &[&|tree| {
            tree.group("/", |group| group.file("cpu.stat.local", "throttled_usec 251000\n"));
        }],
    );
    assert_eq!(limits(&e), ["/pod/ctr none"]);
    assert_eq!(e.verdict, Verdict::Throttled);
    assert_eq!(finding(&e, "hidden_limit"), Some(FindingVerdict::Accepted));
    assert_eq!(level_at(&e, "/pod/ctr").increase.counters.throttled_local_ns, Some(250_000_000));
    assert_eq!(binding(&e), [""; 0]);
}

#[test]
fn a_hidden_level_that_stopped_nobody_is_rejected() {
    let e = explain(&hidden_levels(), "self", &[&|_| ()]);
    assert_eq!(e.verdict, Verdict::NotThrottled);
    assert_eq!(finding(&e, "hidden_limit"), Some(FindingVerdict::Rejected));
}

/// Before 6.6 nothing tells whether a hidden level stopped the target.
#[test]
fn without_cpu_stat_local_hidden_levels_stay_open() {
    let tree = hidden_levels();
    tree.remove("sys/fs/cgroup/cpu.stat.local");
    let e = explain(&tree, "self", &[&|_| ()]);
    assert_eq!(finding(&e, "hidden_limit"), Some(FindingVerdict::NotEnoughData));
}

#[test]
fn burst_is_used_or_only_there() {
    for tree in [FakeTree::v1_split(), FakeTree::v2()] {
        tree.group("/a", |group| group.quota(50_000, 100_000).burst_us(20_000).bursts(3, 9_000));
        let unused = explain(&tree, "cgroup:/a", &[&|_| ()]);
        assert_eq!(finding(&unused, "burst"), Some(FindingVerdict::Rejected));
        let used = explain(
            &tree,
            "cgroup:/a",
            &[&|tree| {
                tree.group("/a", |group| {
                    group.stat(4, 0, 0).bursts(5, 19_009_000).usage_ns(219_000_000)
                });
            }],
        );
        assert_eq!(finding(&used, "burst"), Some(FindingVerdict::Accepted));
        let counters = &level_at(&used, "/a").increase.counters;
        assert_eq!((counters.nr_bursts, counters.burst_ns), (Some(2), Some(19_000_000)));
        assert_eq!(used.verdict, Verdict::NotThrottled);
    }
    let without = FakeTree::v2();
    without.group("/a", |group| group.quota(50_000, 100_000));
    assert_eq!(finding(&explain(&without, "cgroup:/a", &[&|_| ()]), "burst"), None);
}

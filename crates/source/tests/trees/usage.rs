//! CPU time and the counters' text: units, keys, where usage comes from, what cannot be read.

use unthrottle_analysis::{Check, Verdict};
use unthrottle_model::rows::UsageSource;
use unthrottle_testkit::FakeTree;

use crate::support::{accepted, accepted_checks, counted, explain, level_at, look, loss};

/// C005: nanoseconds on v1, microseconds on v2, the same CPU seconds.
#[test]
fn the_same_work_gives_the_same_cpu_time_on_both_versions() {
    for tree in [FakeTree::v1_split(), FakeTree::v1_joined(), FakeTree::v2(), FakeTree::hybrid()] {
        tree.group("/app", |group| group.quota(50_000, 100_000).usage_ns(1_000_000));
        let e = explain(
            &tree,
            "cgroup:/app",
            &[&|tree| {
                tree.group("/app", |group| group.usage_ns(31_250_000).stat(9, 2, 127_918_000));
            }],
        );
        let counters = &level_at(&e, "/app").increase.counters;
        assert_eq!(counters.usage_ns, Some(30_250_000));
        assert_eq!(counters.throttled_ns, Some(127_918_000));
    }
}

/// C004: keys that are not known yet, in another order.
#[test]
fn new_keys_in_another_order_change_nothing() {
    let tree = FakeTree::v2();
    let text = |periods: u64, throttled: u64| {
        format!(
            "burst_usec 4\ncore_sched.force_idle_usec 3\nnr_throttled {throttled}\n\
             invented.key 5 6 7\nusage_usec 12\nnice_usec 1\nthrottled_usec 9\nuser_usec 12\n\
             nr_bursts 1\nsystem_usec 0\nnr_periods {periods}\n"
        )
    };
    tree.group("/app", |group| group.quota(10_000, 100_000).file("cpu.stat", &text(5, 1)));
    let e = explain(
        &tree,
        "cgroup:/app",
        &[&|tree| {
            tree.group("/app", |group| group.file("cpu.stat", &text(15, 3)));
        }],
    );
    assert_eq!(counted(&e, "/app"), "2 of 10");
}

/// v1 may carry `wait_sum` too, where schedstats are on.
#[test]
fn further_keys_of_v1_are_left_alone() {
    let tree = FakeTree::v1_split();
    let text = "nr_periods 4\nnr_throttled 1\nthrottled_time 5\nwait_sum 99\n";
    tree.group("/app", |group| group.quota(10_000, 100_000).file("cpu.stat", text));
    assert_eq!(counted(&look(&tree, "cgroup:/app"), "/app"), "0 of 0");
}

/// On v1 a group of the cpu hierarchy need not be in cpuacct's.
#[test]
fn without_a_cpuacct_twin_the_threads_are_added_up() {
    let tree = FakeTree::v1_split();
    tree.group("/app", |group| group.quota(50_000, 100_000).procs(&[7]));
    tree.process_in(7, "/app", "app").file("proc/7/task/8/schedstat", "5000000 0 1\n");
    let twin = tree.directory("cpuacct", "/app");
    std::fs::remove_dir_all(twin).expect("the twin");
    let e = explain(
        &tree,
        "cgroup:/app",
        &[&|tree| {
            tree.file("proc/7/task/7/schedstat", "11000000 1000 5\n")
                .file("proc/7/task/8/schedstat", "25000000 2000 9\n");
        }],
    );
    let app = level_at(&e, "/app");
    assert_eq!(app.group.usage_source, UsageSource::Threads);
    assert_eq!(app.increase.counters.usage_ns, Some(31_000_000));
    assert!(loss(&e, "counters.usage_cores").is_some_and(|why| why.contains("cpuacct")));
    assert!(e.usage_ratio.is_some_and(|ratio| ratio > 0.0));
}

/// A twin at the same path with other processes in it has somebody else's usage.
#[test]
fn a_twin_with_other_processes_is_not_believed() {
    let tree = FakeTree::v1_split();
    tree.group("/app", |group| group.procs(&[7]).usage_ns(1_000));
    tree.process_in(7, "/app", "app");
    let others = tree.directory("cpuacct", "/app").join("cgroup.procs");
    std::fs::write(others, "99\n").expect("procs");
    let e = look(&tree, "cgroup:/app");
    assert_eq!(level_at(&e, "/app").group.usage_source, UsageSource::Threads);
}

#[test]
fn counters_that_cannot_be_read_are_not_measured() {
    for tree in [FakeTree::v1_split(), FakeTree::v2()] {
        tree.group("/app", |group| group.quota(50_000, 100_000));
        std::fs::remove_file(tree.directory("cpu", "/app").join("cpu.stat")).expect("cpu.stat");
        let e = look(&tree, "cgroup:/app");
        assert_eq!(e.verdict, Verdict::NotMeasured);
        assert_eq!(counted(&e, "/app"), "- of -");
        assert!(loss(&e, "counters").is_some(), "the reason is told: {:?}", e.losses);
        assert_eq!(loss(&e, "counters.throttle_ratio"), None, "it is neither idle nor unlimited");
    }
}

/// Reading fails with an error of the system, though the file is there.
#[test]
fn counters_whose_reading_fails_are_not_measured() {
    for tree in [FakeTree::v1_split(), FakeTree::v2()] {
        tree.group("/app", |group| group.quota(50_000, 100_000));
        let stat = tree.directory("cpu", "/app").join("cpu.stat");
        std::fs::remove_file(&stat).expect("cpu.stat");
        std::fs::create_dir(&stat).expect("a directory in its place");
        let e = look(&tree, "cgroup:/app");
        assert_eq!(e.verdict, Verdict::NotMeasured);
        let why = loss(&e, "counters").expect("a reason");
        assert!(why.contains("/app"), "{why}");
    }
}

/// The counters of a parent that has a quota are needed for an answer, too.
#[test]
fn an_unreadable_parent_makes_not_throttled_impossible() {
    let tree = FakeTree::v2();
    tree.group("/pod", |group| group.quota(50_000, 100_000));
    tree.group("/pod/ctr", |group| group.quota(20_000, 100_000));
    tree.remove("sys/fs/cgroup/pod/cpu.stat");
    let quiet = look(&tree, "cgroup:/pod/ctr");
    assert_eq!(quiet.verdict, Verdict::NotMeasured);
    let e = explain(
        &tree,
        "cgroup:/pod/ctr",
        &[&|tree| {
            // Only the file that is there.
            tree.file("sys/fs/cgroup/pod/ctr/cpu.stat", "nr_periods 3\nnr_throttled 1\n");
        }],
    );
    assert_eq!(e.verdict, Verdict::Throttled, "one level that is seen is enough");
}

/// `unlimited` and `unreadable` are different answers.
#[test]
fn a_limit_that_cannot_be_read_is_told_and_is_not_called_no_limit() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group.file("cpu.max", "garbage\n"));
    let e = look(&tree, "cgroup:/app");
    assert!(loss(&e, "limits").is_some_and(|why| why.contains("/app")), "{:?}", e.losses);
    assert_eq!(loss(&e, "counters.throttle_ratio"), None);
}

/// K2: `int` in the kernel, printed with its sign.
#[test]
fn a_32_bit_counter_that_wraps_goes_on() {
    for tree in [FakeTree::v1_split(), FakeTree::v2()] {
        let text = |periods: i64, throttled: i64| {
            format!("usage_usec 1\nnr_periods {periods}\nnr_throttled {throttled}\n")
        };
        let (max, min) = (i64::from(i32::MAX), i64::from(i32::MIN));
        tree.group("/app", |group| {
            group.quota(10_000, 100_000).file("cpu.stat", &text(max - 3, 70))
        });
        let e = explain(
            &tree,
            "cgroup:/app",
            &[&|tree| {
                tree.group("/app", |group| group.file("cpu.stat", &text(min + 6, 72)));
            }],
        );
        assert_eq!(counted(&e, "/app"), "2 of 10");
        assert_eq!(level_at(&e, "/app").increase.went_back, 0);
        assert!(!accepted(&e).contains(&"counter_went_back"));
    }
}

/// Inputs that contradict each other: 42188 s of use in 184320 periods of 100 ms at 1 core.
#[test]
fn more_use_than_the_periods_can_give_is_told() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group.quota(100_000, 100_000));
    let e = explain(
        &tree,
        "cgroup:/app",
        &[&|tree| {
            tree.group("/app", |group| {
                group.stat(184_320, 8_300, 7_200_000_000_000).usage_ns(42_188_000_000_000)
            });
        }],
    );
    let found = accepted_checks(&e).into_iter().find_map(|check| match check {
        Check::UsageAboveQuota(_, checked) => Some(checked),
        _ => None,
    });
    let checked = found.expect("the contradiction is a finding");
    assert_eq!(checked.value_ns, 42_188_000_000_000);
    // 184321 refills of 100 ms, and at most some tens of ms of slack on 4 CPUs.
    let bound = 18_432_100_000_000..18_432_200_000_000;
    assert!(bound.contains(&checked.bound_ns), "{checked:?}");
}

/// More throttled periods than the use can have filled: the old slice-expiry fault, or a mix-up.
#[test]
fn more_throttled_periods_than_the_use_can_fill_is_told() {
    let tree = FakeTree::v1_split();
    tree.group("/app", |group| group.quota(100_000, 100_000));
    let busy = |tree: &FakeTree| {
        tree.group("/app", |group| group.stat(600, 580, 9_000_000_000).usage_ns(300_000_000));
    };
    let e = explain(&tree, "cgroup:/app", &[&busy]);
    assert!(accepted(&e).contains(&"throttled_above_usage"), "{:?}", e.findings);
    // Before 5.4 kernels did that by themselves: the relation is not asked.
    let old = FakeTree::v1_split();
    old.file("proc/sys/kernel/osrelease", "4.18.0-rc4\n");
    old.group("/app", |group| group.quota(100_000, 100_000));
    let e = explain(&old, "cgroup:/app", &[&busy]);
    assert!(!e.findings.iter().any(|each| each.check.word() == "throttled_above_usage"));
}

#[test]
fn use_within_the_quota_breaks_nothing() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group.quota(50_000, 100_000));
    let e = explain(
        &tree,
        "cgroup:/app",
        &[&|tree| {
            tree.group("/app", |group| group.stat(600, 73, 6_000_000_000).usage_ns(13_000_000_000));
        }],
    );
    assert_eq!(accepted(&e), ["quota"]);
}

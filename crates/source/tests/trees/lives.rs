//! Groups that change, restart or end while they are watched: events in the data, never errors.

use unthrottle_analysis::{Check, FindingVerdict, Verdict};
use unthrottle_model::limit::{CpuLimit, Quota};
use unthrottle_model::rows::{EventKind, LimitState};
use unthrottle_testkit::FakeTree;

use crate::support::{
    accepted, accepted_checks, counted, effective, explain, finding, level_at, loss, watch,
};

/// Empties the files of a group that readers keep open, as the kernel's answer "no such device".
///
/// Files of an ordinary file system stay readable through an open descriptor after they are removed.
fn cut_off(tree: &FakeTree, path: &str) {
    for name in ["cpu.stat", "cpu.max", "cpu.cfs_quota_us"] {
        let file = tree.directory("cpu", path).join(name);
        if file.exists() {
            std::fs::write(&file, "").expect("an empty file");
        }
    }
}

/// C113: the container restarted within the same group, and its counters began anew.
#[test]
fn counters_that_go_back_leave_their_interval_out() {
    for tree in [FakeTree::v1_joined(), FakeTree::v2()] {
        let set = |periods, throttled, usage_ns| {
            move |tree: &FakeTree| {
                tree.group("/app", |group| group.stat(periods, throttled, 0).usage_ns(usage_ns));
            }
        };
        tree.group("/app", |group| group.quota(50_000, 100_000));
        set(100, 50, 900_000_000)(&tree);
        let e = explain(
            &tree,
            "cgroup:/app",
            &[&set(110, 55, 990_000_000), &set(3, 1, 10_000_000), &set(13, 2, 60_000_000)],
        );
        assert_eq!(counted(&e, "/app"), "6 of 20");
        let app = level_at(&e, "/app");
        assert_eq!(app.increase.counters.usage_ns, Some(140_000_000));
        assert_eq!(finding(&e, "counter_went_back"), Some(FindingVerdict::Accepted));
        // What is left out of the increases is left out of what the limit allowed, too.
        let allowed_ns = app.increase.span_ns as f64 * 0.5;
        let ratio = app.usage_of_own_limit().expect("a ratio");
        assert!((ratio / (140e6 / allowed_ns) - 1.0).abs() < 1e-6, "{ratio}");
        let wall = app.throttle_wall_ratio().expect("a ratio");
        let expected = (6.0 / (app.increase.span_ns as f64 / 1e8)).min(1.0);
        assert!((wall / expected - 1.0).abs() < 1e-6, "{wall} {expected}");
    }
}

#[test]
fn only_one_counter_that_goes_back_is_enough_to_leave_the_interval_out() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group.quota(50_000, 100_000).stat(100, 50, 9_000_000));
    let e = explain(
        &tree,
        "cgroup:/app",
        &[&|tree| {
            tree.group("/app", |group| group.stat(140, 60, 1_000));
        }],
    );
    assert_eq!(counted(&e, "/app"), "- of -");
    assert_eq!(level_at(&e, "/app").increase.went_back, 1);
    assert_eq!(e.verdict, Verdict::NotMeasured, "nothing is left of this window");
}

/// In-place resize: each side is judged by its own limit.
#[test]
fn a_limit_that_changes_while_watched_is_told_with_both_values() {
    for tree in [FakeTree::v1_split(), FakeTree::v2()] {
        tree.group("/app", |group| group.quota(20_000, 100_000));
        let e = explain(
            &tree,
            "cgroup:/app",
            &[
                &|tree| {
                    tree.group("/app", |group| group.quota(42_000, 100_000));
                },
                &|tree| {
                    tree.group("/app", |group| group.unlimited());
                },
            ],
        );
        let changes: Vec<_> = accepted_checks(&e)
            .into_iter()
            .filter_map(|check| match check {
                Check::LimitChanged(_, from, to) => Some((from, to)),
                _ => None,
            })
            .collect();
        let limit = |quota_us| {
            LimitState::Limit(CpuLimit::Quota(Quota { quota_us, period_us: 100_000, burst_us: 0 }))
        };
        let none = LimitState::Limit(CpuLimit::Unlimited);
        assert_eq!(changes, [(limit(20_000), limit(42_000)), (limit(42_000), none)]);
        assert_eq!(effective(&e), "4 cpus", "as it is now");
        // In both intervals the limit changed somewhere: what they allowed is not known.
        let app = level_at(&e, "/app");
        assert!(app.wall_periods.is_some_and(|count| count > 0.0));
        assert_eq!(app.usage_of_own_limit(), None);
        assert_eq!(app.limits.len(), 3);
    }
}

#[test]
fn throttling_before_the_limit_was_lifted_still_counts() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group.quota(20_000, 100_000));
    let e = explain(
        &tree,
        "cgroup:/app",
        &[
            &|tree| {
                tree.group("/app", |group| group.stat(5, 4, 90_000_000).usage_ns(100_000_000));
            },
            &|tree| {
                tree.group("/app", |group| group.unlimited());
            },
        ],
    );
    assert_eq!(e.verdict, Verdict::Throttled);
    assert_eq!(counted(&e, "/app"), "4 of 5");
}

#[test]
fn a_cpuset_that_changes_while_watched_counts_as_last_seen() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group.cpuset("0-2"));
    let e = explain(
        &tree,
        "cgroup:/app",
        &[&|tree| {
            tree.group("/app", |group| group.cpuset("1"));
        }],
    );
    assert_eq!(effective(&e), "1 cpuset");
}

#[test]
fn a_group_that_is_removed_ends_the_watch_and_keeps_what_was_seen() {
    for tree in [FakeTree::v1_joined(), FakeTree::v1_split(), FakeTree::v2()] {
        tree.group("/app", |group| group.quota(50_000, 100_000));
        let recording = watch(
            &tree,
            "cgroup:/app",
            &[
                &|tree| {
                    tree.group("/app", |group| group.stat(8, 3, 70_000_000));
                },
                &|tree| {
                    cut_off(tree, "/app");
                    tree.remove_group("/app");
                },
                &|_| (),
            ],
        );
        let events: Vec<_> = recording.rows.events.iter().map(|row| row.kind).collect();
        assert_eq!(events, [EventKind::Vanished]);
        let gone_ns = recording.rows.events[0].time_ns;
        assert!(
            recording.rows.clock.iter().all(|row| row.monotonic_ns < gone_ns),
            "the watch went on without its target"
        );
        let e = unthrottle_analysis::explain(&recording);
        assert_eq!(e.verdict, Verdict::Throttled);
        assert_eq!(counted(&e, "/app"), "3 of 8");
        assert_eq!(finding(&e, "vanished"), Some(FindingVerdict::Accepted));
        assert!(loss(&e, "window").is_some_and(|why| why.contains("removed")));
    }
}

#[test]
fn a_group_made_anew_at_the_same_path_is_another_one() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group.quota(50_000, 100_000).stat(100, 90, 5_000));
    let e = explain(
        &tree,
        "cgroup:/app",
        &[
            &|tree| {
                let old = tree.directory("cpu", "/app");
                // The old directory lives on elsewhere, so that its inode is not given to the new one.
                cut_off(tree, "/app");
                std::fs::rename(&old, tree.root().join("old")).expect("moved away");
                tree.group("/app", |group| group.quota(30_000, 100_000).stat(2, 1, 1_000));
            },
            &|_| (),
            &|tree| {
                tree.group("/app", |group| group.stat(12, 6, 50_000_000).usage_ns(300_000_000));
            },
        ],
    );
    assert!(accepted(&e).contains(&"restarted"), "{:?}", e.findings);
    // Between the two lives the counters went back; afterwards the new one counts.
    assert_eq!(counted(&e, "/app"), "5 of 10");
    assert_eq!(effective(&e), "0.3 quota /app");
}

//! `--fail-on`: 1 if it is so, 0 if not, 3 if what it asks for was not measured.

use unthrottle_testkit::FakeTree;

use crate::support::{explain_through, throttle, throttled_service};

#[track_caller]
fn code(condition: &str, step: fn(&FakeTree)) -> i32 {
    let ran = explain_through(&throttled_service(), "unit:web", &["--fail-on", condition], step);
    assert!(ran.out.contains("CHECKED"), "the answer is printed all the same: {}", ran.out);
    ran.code
}

fn nothing(_: &FakeTree) {}

/// As a neighbour would have it: periods, and none of them throttled.
fn work(tree: &FakeTree) {
    tree.group("/system.slice/web.service", |group| group.stat(1_020, 300, 9_000_000_000));
}

#[test]
fn throttled() {
    assert_eq!(code("throttled", throttle), 1);
    assert_eq!(code("throttled", work), 0);
    assert_eq!(code("throttled", nothing), 0);
}

/// Three of eight periods: 37.5 %.
#[test]
fn throttle_rate() {
    assert_eq!(code("throttle-rate=37.5%", throttle), 1);
    assert_eq!(code("throttle-rate=5%", throttle), 1);
    assert_eq!(code("throttle-rate=38%", throttle), 0);
    assert_eq!(code("throttle-rate=0%", work), 0, "nothing was throttled");
}

/// Without rows of requests there is no p99: told before the watch.
#[test]
fn p99_without_requests_is_a_mistake() {
    let args = ["--fail-on", "p99=50ms"];
    let ran = explain_through(&throttled_service(), "unit:web", &args, |_| ());
    assert_eq!(ran.code, 2, "{}", ran.out);
}

#[test]
fn a_parent_that_was_throttled_counts() {
    let tree = FakeTree::v1_joined();
    tree.group("/pod", |group| group.quota(50_000, 100_000)).group("/pod/ctr", |group| group);
    let args = ["--fail-on", "throttle-rate=50%"];
    let ran = explain_through(&tree, "cgroup:/pod/ctr", &args, |tree| {
        tree.group("/pod", |group| group.stat(4, 2, 9_000_000).usage_ns(150_000_000));
    });
    assert_eq!(ran.code, 1, "{}", ran.out);
}

#[test]
fn unreadable_counters_are_not_measured() {
    let tree = throttled_service();
    tree.remove("sys/fs/cgroup/system.slice/web.service/cpu.stat");
    for condition in ["throttled", "throttle-rate=1%"] {
        let ran = explain_through(&tree, "unit:web", &["--fail-on", condition], |_| ());
        assert_eq!(ran.code, 3, "{condition}");
    }
}

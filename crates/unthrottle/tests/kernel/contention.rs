//! Waiting for a neighbour is not throttling.

use unthrottle_testkit::alone::alone;
use unthrottle_testkit::real_group::RealGroup;
use unthrottle_testkit::require;

use crate::support::{code, explain, finding, json, number, run, word};

#[test]
fn a_starved_group_is_contended_and_not_throttled() {
    require!(root, v1_cpu);
    let _alone = alone();
    let mut target = RealGroup::new("starved");
    // A limit far above what it gets: it must not be blamed.
    target.quota(200_000).write("cpu.shares", "64");
    let mut neighbour = RealGroup::new("neighbour");
    neighbour.write("cpu.shares", "10000");
    let cpus = std::thread::available_parallelism().map_or(2, usize::from);
    target.spin(1);
    neighbour.spin(cpus + 1);
    let document = explain(&format!("cgroup:{}", target.path()), "3s");
    assert_eq!(word(&document, "/verdict"), "contention", "{document:#}");
    assert_eq!(finding(&document, "quota"), Some("rejected"));
    assert_eq!(finding(&document, "contention"), Some("accepted"));
    assert_eq!(finding(&document, "other_load"), Some("accepted"));
    assert!(number(&document, "/waiting/wait_ratio") > 0.1);
    assert_eq!(number(&document, "/counters/nr_throttled"), 0.0);
}

#[test]
fn stops_of_a_group_below_are_not_contention() {
    require!(root, v1_cpu);
    let _alone = alone();
    let parent = RealGroup::new("upper");
    let mut child = parent.below("limited");
    child.quota(20_000);
    child.spin(1);
    let document = explain(&format!("cgroup:{}", parent.path()), "2s");
    assert_eq!(word(&document, "/verdict"), "not_throttled", "{document:#}");
    assert_eq!(finding(&document, "limited_below"), Some("accepted"));
    assert_eq!(finding(&document, "contention"), Some("not_enough_data"));
    assert!(document.to_string().contains(child.path()));
}

#[test]
fn a_window_within_one_stop_is_not_measured() {
    require!(root, v1_cpu);
    let _alone = alone();
    let mut group = RealGroup::new("short");
    group.write("cpu.cfs_period_us", "1000000").write("cpu.cfs_quota_us", "10000");
    group.spin(1);
    std::thread::sleep(std::time::Duration::from_millis(1500));
    let target = format!("cgroup:{}", group.path());
    let output = run(&["explain", &target, "--for", "300ms", "--format", "json"]);
    let document = json(&output);
    // A period may end inside and count a stop: then it is seen. "Not throttled" would be untrue.
    assert_ne!(word(&document, "/verdict"), "not_throttled", "{document:#}");
    assert_ne!(word(&document, "/verdict"), "contention", "{document:#}");
    if word(&document, "/verdict") == "not_measured" {
        assert_eq!(code(&output), 3);
    }
}

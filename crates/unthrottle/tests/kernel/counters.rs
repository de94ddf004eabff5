//! What is said equals what the kernel's own files say.

use std::time::Duration;

use unthrottle_testkit::alone::alone;
use unthrottle_testkit::real_group::RealGroup;
use unthrottle_testkit::require;

use crate::support::{explain, explain_in_background, finding, json, level, lost, number, word};

#[test]
fn counters_equal_an_independent_reading() {
    require!(root, v1_cpu);
    let _alone = alone();
    let mut group = RealGroup::new("equal");
    group.quota(20_000);
    let before = group.counters();
    let child = explain_in_background(&format!("cgroup:{}", group.path()), "6s");
    std::thread::sleep(Duration::from_millis(700));
    // All the work lies inside the window, so both readings are of the same increase.
    group.spin(2);
    std::thread::sleep(Duration::from_millis(2500));
    group.end();
    let output = child.wait_with_output().expect("explain");
    let after = group.counters();
    let document = json(&output);
    let rise = |key: &str| (after[key] - before[key]) as f64;
    assert!(rise("nr_throttled") > 15.0, "{after:?}");
    assert_eq!(number(&document, "/counters/nr_periods"), rise("nr_periods"));
    assert_eq!(number(&document, "/counters/nr_throttled"), rise("nr_throttled"));
    assert_eq!(number(&document, "/counters/throttled_ms"), rise("throttled_time") / 1e6);
    let used_ms =
        number(&document, "/counters/usage_cores") * number(&document, "/window/seconds") * 1e3;
    assert!((used_ms - rise("usage") / 1e6).abs() < 0.5, "{used_ms} of {after:?}");
    let ratio = rise("nr_throttled") / rise("nr_periods");
    assert!((number(&document, "/counters/throttle_ratio") - ratio).abs() < 1e-12);
    assert_eq!(word(&document, "/verdict"), "throttled");
    // Two processes on two CPUs: the sum over CPUs is more than the wall time it happened in.
    assert!(rise("throttled_time") / 1e9 > 2.5, "{after:?}");
    assert_eq!(finding(&document, "usage_above_quota"), Some("rejected"));
    assert_eq!(finding(&document, "throttled_above_usage"), Some("rejected"));
}

#[test]
fn use_is_what_the_quota_allows() {
    require!(root, v1_cpu);
    let _alone = alone();
    let mut group = RealGroup::new("use");
    group.quota(30_000);
    group.spin(1);
    let document = explain(&format!("cgroup:{}", group.path()), "4s");
    // One busy thread uses its quota up in every period, but for an overrun that is paid back.
    let ratio = number(&document, "/counters/usage_ratio");
    assert!((0.9..1.1).contains(&ratio), "{document:#}");
    assert!(number(&document, "/counters/throttle_ratio") > 0.9);
    assert!(number(&document, "/counters/throttle_wall_ratio") > 0.85);
    assert_eq!(number(&document, "/effective/limit_cores"), 0.3);
    assert_eq!(number(&document, "/limits/1/quota_us"), 30_000.0);
}

#[test]
fn an_idle_limited_group_has_no_ratio() {
    require!(root, v1_cpu);
    let _alone = alone();
    let group = RealGroup::new("idle");
    group.quota(50_000);
    // Writing a limit starts the period timer, which stops after two boundaries without a draw.
    std::thread::sleep(Duration::from_millis(500));
    let document = explain(&format!("cgroup:{}", group.path()), "1s");
    assert_eq!(word(&document, "/verdict"), "not_throttled");
    assert!(document["counters"]["throttle_ratio"].is_null(), "{document:#}");
    assert_eq!(number(&document, "/counters/nr_periods"), 0.0);
    assert!(lost(&document, "counters.throttle_ratio", "no_active_period"));
}

#[test]
fn a_busy_group_without_limit_is_not_throttled() {
    require!(root, v1_cpu);
    let _alone = alone();
    let mut group = RealGroup::new("free");
    group.write("cpu.shares", "200000");
    group.spin(1);
    let document = explain(&format!("cgroup:{}", group.path()), "2s");
    assert_eq!(word(&document, "/verdict"), "not_throttled", "{document:#}");
    assert!(document["counters"]["throttle_ratio"].is_null());
    assert!(document["counters"]["nr_periods"].is_null(), "no limit, so no periods");
    assert!(lost(&document, "counters.throttle_ratio", "no_limit"));
    assert!(number(&document, "/counters/usage_cores") > 0.5);
}

#[test]
fn use_without_cpuacct_comes_from_the_threads() {
    require!(root, v1_cpu);
    let _alone = alone();
    let mut group = RealGroup::without_cpuacct("bare");
    group.quota(40_000);
    group.spin(1);
    let document = explain(&format!("cgroup:{}", group.path()), "3s");
    assert!(lost(&document, "counters.usage_cores", "sum over its threads"), "{document:#}");
    let cores = number(&document, "/counters/usage_cores");
    assert!((0.3..0.5).contains(&cores), "{cores}");
}

#[test]
fn drawn_burst_is_shown() {
    require!(root, v1_cpu);
    let _alone = alone();
    let mut group = RealGroup::new("burst");
    group.quota(20_000).write("cpu.cfs_burst_us", "20000");
    // The pool fills up while the group is idle: the first period may use both.
    let before = group.counters();
    let child = explain_in_background(&format!("cgroup:{}", group.path()), "3s");
    std::thread::sleep(Duration::from_millis(700));
    group.spin(1);
    std::thread::sleep(Duration::from_millis(600));
    group.end();
    let document = json(&child.wait_with_output().expect("explain"));
    let after = group.counters();
    assert!(after["nr_bursts"] > before["nr_bursts"], "{after:?}");
    let own = level(&document, group.path());
    assert_eq!(number(own, "/burst_us"), 20_000.0);
    let rise = (after["nr_bursts"] - before["nr_bursts"]) as f64;
    assert_eq!(number(&document, "/counters/nr_bursts"), rise);
    assert_eq!(finding(&document, "burst"), Some("accepted"));
}

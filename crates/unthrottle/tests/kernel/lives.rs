//! Groups that die, come back, or get another limit while they are watched.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use unthrottle_testkit::alone::alone;
use unthrottle_testkit::real_group::RealGroup;
use unthrottle_testkit::require;

use crate::support::{explain_in_background, finding, json, lost, number, word};

#[test]
fn a_group_that_dies_ends_the_watch_with_what_was_seen() {
    require!(root, v1_cpu);
    let _alone = alone();
    let mut group = RealGroup::new("dies");
    group.quota(20_000);
    group.spin(1);
    let started = Instant::now();
    let child = explain_in_background(&format!("cgroup:{}", group.path()), "60s");
    std::thread::sleep(Duration::from_millis(2500));
    group.remove();
    let output = child.wait_with_output().expect("explain");
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(output.status.code(), Some(0));
    let document = json(&output);
    assert_eq!(word(&document, "/verdict"), "throttled");
    assert_eq!(finding(&document, "vanished"), Some("accepted"));
    assert!(lost(&document, "window", "removed after"), "{document:#}");
    assert!((1.5..4.0).contains(&number(&document, "/window/seconds")), "{document:#}");
}

#[test]
fn a_restart_is_told_and_its_interval_left_out() {
    require!(root, v1_cpu);
    let _alone = alone();
    let mut group = RealGroup::new("restart");
    group.quota(20_000);
    group.spin(1);
    let child = explain_in_background(&format!("cgroup:{}", group.path()), "5s");
    std::thread::sleep(Duration::from_millis(2300));
    let first = group.counters();
    group.remove();
    group.make_again();
    group.quota(20_000);
    group.spin(1);
    let document = json(&child.wait_with_output().expect("explain"));
    let second = group.counters();
    assert_eq!(finding(&document, "restarted"), Some("accepted"), "{document:#}");
    let counted = number(&document, "/counters/nr_periods");
    let both = (first["nr_periods"] + second["nr_periods"]) as f64;
    assert!(counted > 10.0 && counted <= both, "{counted} of {both}");
    assert_eq!(word(&document, "/verdict"), "throttled");
}

#[test]
fn a_limit_that_changes_is_judged_in_parts() {
    require!(root, v1_cpu);
    let _alone = alone();
    let mut group = RealGroup::new("resize");
    group.quota(20_000);
    group.spin(1);
    let child = explain_in_background(&format!("cgroup:{}", group.path()), "6s");
    std::thread::sleep(Duration::from_millis(3500));
    group.quota(60_000);
    let document = json(&child.wait_with_output().expect("explain"));
    assert_eq!(finding(&document, "limit_changed"), Some("accepted"), "{document:#}");
    // Judged by the last limit alone, the use of the first half would look like a third.
    let ratio = number(&document, "/counters/usage_ratio");
    assert!((0.85..1.15).contains(&ratio), "{ratio}");
}

#[test]
fn ctrl_c_explains_what_was_seen() {
    require!(root, v1_cpu);
    let _alone = alone();
    let mut group = RealGroup::new("early");
    group.quota(20_000);
    group.spin(1);
    let child = explain_in_background(&format!("cgroup:{}", group.path()), "60s");
    std::thread::sleep(Duration::from_millis(1500));
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, Signal::INT).expect("kill");
    let output = child.wait_with_output().expect("explain");
    assert_eq!(output.status.code(), Some(0));
    let document = json(&output);
    assert_eq!(word(&document, "/verdict"), "throttled");
    assert!(number(&document, "/window/seconds") < 10.0);
}

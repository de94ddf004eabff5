//! The level that binds is found, wherever it is.

use unthrottle_testkit::alone::alone;
use unthrottle_testkit::real_group::RealGroup;
use unthrottle_testkit::require;

use crate::support::{BINARY, explain, finding, json, level, number, word};

#[test]
fn a_parent_with_a_limit_is_named_as_binding() {
    require!(root, v1_cpu);
    let _alone = alone();
    let parent = RealGroup::new("parent");
    parent.quota(25_000);
    let mut child = parent.below("worker");
    child.spin(1);
    let document = explain(&format!("cgroup:{}", child.path()), "3s");
    assert_eq!(word(&document, "/verdict"), "throttled", "{document:#}");
    let (upper, own) = (level(&document, parent.path()), level(&document, child.path()));
    assert_eq!(upper["binding"], true);
    assert_eq!(own["binding"], false);
    assert!(own["limit_cores"].is_null());
    assert!(own["counters"]["throttle_ratio"].is_null(), "the child itself has no periods");
    assert!(number(upper, "/counters/throttle_ratio") > 0.9);
    assert_eq!(word(&document, "/effective/cgroup"), parent.path());
    assert_eq!(finding(&document, "parent_limit"), Some("accepted"));
    assert!(word(&document, "/summary").contains(parent.path()));
    // The kernel's third witness: the child's own file of stops by any level.
    assert!(number(&document, "/counters/throttled_local_ms") > 1000.0);
}

#[test]
fn both_levels_of_a_pod_are_judged_by_their_own_counters() {
    require!(root, v1_cpu);
    let _alone = alone();
    let pod = RealGroup::new("pod");
    pod.quota(40_000);
    let mut container = pod.below("container");
    container.quota(40_000);
    let mut sidecar = pod.below("sidecar");
    sidecar.quota(10_000);
    container.spin(2);
    sidecar.spin(1);
    let before = [pod.counters(), container.counters()];
    let document = explain(&format!("cgroup:{}", container.path()), "3s");
    let after = [pod.counters(), container.counters()];
    for (index, group) in [&pod, &container].into_iter().enumerate() {
        let row = level(&document, group.path());
        let seen = number(row, "/counters/nr_throttled");
        let most = (after[index]["nr_throttled"] - before[index]["nr_throttled"]) as f64;
        assert!(seen <= most && seen >= most - 5.0, "{seen} of {most}: {row:#}");
        assert_eq!(row["binding"], seen > 0.0);
    }
    // Container and sidecar together want more than the pod has.
    assert_eq!(level(&document, pod.path())["binding"], true, "{document:#}");
    assert_eq!(word(&document, "/verdict"), "throttled");
    assert_eq!(number(&document, "/effective/limit_cores"), 0.4);
}

#[test]
fn self_is_the_group_of_the_command() {
    require!(root, v1_cpu);
    let _alone = alone();
    let group = RealGroup::new("self");
    group.quota(100_000);
    let output = group
        .command(&[BINARY, "explain", "self", "--for", "1s", "--format", "json"])
        .output()
        .expect("explain");
    let document = json(&output);
    assert_eq!(word(&document, "/target/cgroup"), group.path());
    assert_eq!(number(&document, "/effective/limit_cores"), 1.0);
}

#[test]
fn a_process_leads_to_its_group() {
    require!(root, v1_cpu);
    let _alone = alone();
    let mut group = RealGroup::new("pid");
    group.quota(30_000);
    group.spin(1);
    let pid = group.pids()[0];
    let document = explain(&format!("pid:{pid}"), "1s");
    assert_eq!(word(&document, "/target/cgroup"), group.path());
    assert_eq!(word(&document, "/verdict"), "throttled");
    let document = explain(&format!("cgroup:{}", group.directory().display()), "1s");
    assert_eq!(word(&document, "/target/cgroup"), group.path(), "a filesystem path");
}

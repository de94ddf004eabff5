//! Waiting for a neighbour is not throttling.

use unthrottle_testkit::alone::alone;
use unthrottle_testkit::real_group::RealGroup;
use unthrottle_testkit::require;

use crate::support::{explain, finding, number, word};

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

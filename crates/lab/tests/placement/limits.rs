//! Limits, as the kernel took them.

use std::time::{Duration, Instant};

use unthrottle_lab::placement::{GroupSpec, Guard, Place, PlacementError, Weight};
use unthrottle_model::{ErrorKind, Explained};
use unthrottle_testkit::alone::alone;
use unthrottle_testkit::require;

use crate::support::{guard, ours, place, quota, read, shell, spec};

#[test]
fn root_limit_and_weight_land_in_the_files() {
    require!(root, v1_cpu);
    let _alone = alone();
    let spec = GroupSpec { limit: Some(quota(30_000, 50_000, 10_000)), weight: Weight::High };
    let guard = Guard::create(&place(), &spec).expect("makes a group");
    let dirs = guard.dirs();
    assert_eq!(read(&dirs.cpu, "cpu.cfs_quota_us"), "30000");
    assert_eq!(read(&dirs.cpu, "cpu.cfs_period_us"), "50000");
    assert_eq!(read(&dirs.cpu, "cpu.cfs_burst_us"), "10000");
    assert_eq!(read(&dirs.cpu, "cpu.shares"), "200000");
    assert_eq!(guard.notes(), [""; 0]);
    assert!(dirs.cpuacct.is_some_and(|dir| dir.join("cpuacct.usage").exists()));
    let removed = guard.remove().expect("removes");
    assert_eq!((removed.processes, removed.killed), (0, 0));
    assert!(removed.groups.contains(&dirs.cpu));
    assert!(!dirs.cpu.exists());

    let unlimited = Guard::create(&place(), &crate::support::spec(None)).expect("makes a group");
    assert_eq!(read(&unlimited.dirs().cpu, "cpu.cfs_quota_us"), "-1");
    assert_eq!(read(&unlimited.dirs().cpu, "cpu.shares"), "1024");
}

#[test]
fn root_a_limit_can_be_changed() {
    require!(root, v1_cpu);
    let _alone = alone();
    let guard = guard();
    let cpu = guard.dirs().cpu;
    for (limit, expected) in [
        (Some(quota(100_000, 100_000, 0)), ["100000", "100000", "0"]),
        (Some(quota(20_000, 100_000, 20_000)), ["20000", "100000", "20000"]),
        (Some(quota(1_000, 1_000_000, 0)), ["1000", "1000000", "0"]),
        (Some(quota(4_000, 2_000, 4_000)), ["4000", "2000", "4000"]),
        (Some(quota(1_500, 1_000, 0)), ["1500", "1000", "0"]),
        (None, ["-1", "1000", "0"]),
        (Some(quota(50_000, 100_000, 0)), ["50000", "100000", "0"]),
    ] {
        guard.set_limit(limit).expect("takes it");
        let files = ["cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.cfs_burst_us"];
        assert_eq!(files.map(|file| read(&cpu, file)), expected, "{limit:?}");
    }
}

#[test]
fn root_the_quota_stops_a_busy_child() {
    require!(root, v1_cpu);
    let _alone = alone();
    let limit = spec(Some(quota(10_000, 100_000, 0)));
    let mut guard = Guard::create(&place(), &limit).expect("makes a group");
    let begin = Instant::now();
    let _child = guard.spawn(shell("while :; do :; done")).expect("starts");
    std::thread::sleep(Duration::from_secs(1));
    let dirs = guard.dirs();
    let usage: u64 =
        read(&dirs.cpuacct.expect("mounted"), "cpuacct.usage").parse().expect("a number");
    let wall = begin.elapsed().as_nanos() as f64;
    let cores = usage as f64 / wall;
    assert!((0.02..0.2).contains(&cores), "{cores}");
    let stat = read(&dirs.cpu, "cpu.stat");
    assert!(!stat.contains("nr_throttled 0\n"), "{stat}");
}

#[test]
fn root_refusals_say_why_and_leave_nothing() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    for limit in [quota(999, 100_000, 0), quota(50_000, 999, 0), quota(50_000, 100_000, 50_001)] {
        let error = Guard::create(&place(), &spec(Some(limit))).expect_err("out of range");
        assert_eq!(error.kind(), ErrorKind::User);
    }
    assert_eq!(ours(), before);

    // Inside a group with half a core, as in a container.
    let outer = guard();
    let inside = Place { cpu_dir: outer.dirs().cpu, path: outer.path().to_owned(), ..place() };
    let error = Guard::create(&inside, &spec(Some(quota(100_000, 100_000, 0)))).expect_err("above");
    let PlacementError::AboveParent { parent, .. } = &error else { panic!("{error}") };
    assert_eq!(*parent, outer.dirs().cpu);
    let text = error.to_string();
    assert!(text.contains("cannot have 1 cores: its parent"), "{text}");
    assert!(text.ends_with("has 0.5"), "{text}");
    assert!(error.hint().is_some_and(|hint| hint.contains("0.5 cores")));
    assert_eq!(std::fs::read_dir(outer.dirs().cpu).expect("reads").filter(is_dir).count(), 0);

    let inner = Guard::create(&inside, &spec(Some(quota(20_000, 100_000, 0)))).expect("below");
    assert!(inner.path().starts_with(outer.path()), "{}", inner.path());
    inner.set_limit(Some(quota(100_000, 100_000, 0))).expect_err("above");
    assert_eq!(read(&inner.dirs().cpu, "cpu.cfs_quota_us"), "20000", "the old one stays");
}

fn is_dir(entry: &std::io::Result<std::fs::DirEntry>) -> bool {
    entry.as_ref().is_ok_and(|entry| entry.path().is_dir())
}

//! The watch itself: its readings, its end, its window.

use unthrottle_model::Recording;
use unthrottle_source::watch::{Watch, WatchOptions};
use unthrottle_source::{Stop, monotonic_ns};
use unthrottle_testkit::FakeTree;

use crate::support::{find, watch_every};

fn tree() -> FakeTree {
    let tree = FakeTree::v2();
    tree.group("/a/b", |group| group.quota(50_000, 100_000));
    tree
}

fn run(for_ns: i64, interval_ns: i64, stop: &Stop) -> Recording {
    let tree = tree();
    let (fs, target) = find(&tree, "cgroup:/a/b").expect("found");
    let options = WatchOptions { for_ns, interval_ns };
    let (meta, watch) = Watch::start(&fs, &target, &options, stop).expect("a watch");
    let mut recording = Recording::new(meta);
    while let Some(batch) = watch.next_batch() {
        recording.push(batch);
    }
    recording
}

fn readings(recording: &Recording) -> usize {
    let target = recording.meta.target.group;
    recording.rows.samples.iter().filter(|row| row.group == target).count()
}

#[test]
fn a_watch_shorter_than_its_interval_has_two_ends() {
    let recording = run(100_000_000, 1_000_000_000, &Stop::default());
    assert_eq!(readings(&recording), 2);
    let e = unthrottle_analysis::explain(&recording);
    assert!(e.window.seconds() >= 0.1, "{}", e.window.seconds());
}

#[test]
fn every_level_is_read_in_every_reading() {
    let recording = run(300_000_000, 100_000_000, &Stop::default());
    let count = readings(&recording);
    // The machine may be too slow for some of the three, never for the first and the last.
    assert!((2..=4).contains(&count), "{count}");
    for group in 0..3 {
        let of = recording.rows.samples.iter().filter(|row| row.group == group).count();
        assert_eq!(of, count, "level {group}");
    }
    assert_eq!(recording.rows.groups.len(), 3);
    assert_eq!(recording.rows.limits.len(), 3, "a limit that stays is told once");
    assert_eq!(recording.rows.clock.len(), count);
}

#[test]
fn times_rise_within_a_level() {
    let recording = run(200_000_000, 20_000_000, &Stop::default());
    for group in 0..3 {
        let times: Vec<i64> = recording
            .rows
            .samples
            .iter()
            .filter(|row| row.group == group)
            .map(|row| row.time_ns)
            .collect();
        assert!(times.is_sorted_by(|a, b| a < b), "{times:?}");
    }
}

#[test]
fn a_request_to_stop_ends_the_watch_with_one_last_reading() {
    let stop = Stop::default();
    stop.request();
    let begin_ns = monotonic_ns();
    let recording = run(3_600_000_000_000, 1_800_000_000_000, &stop);
    assert_eq!(readings(&recording), 2);
    assert!(monotonic_ns() - begin_ns < 30_000_000_000);
}

#[test]
fn a_watch_that_is_dropped_ends_its_thread() {
    let tree = tree();
    let (fs, target) = find(&tree, "cgroup:/a/b").expect("found");
    let options = WatchOptions { for_ns: 3_600_000_000_000, interval_ns: 1_000_000 };
    let (_, watch) = Watch::start(&fs, &target, &options, &Stop::default()).expect("a watch");
    // Long enough for the queue of batches to be full, so that the thread waits for room.
    std::thread::sleep(std::time::Duration::from_millis(300));
    drop(watch);
}

#[test]
fn a_target_that_is_gone_before_the_watch_is_an_error_with_its_path() {
    let tree = tree();
    let (fs, target) = find(&tree, "cgroup:/a/b").expect("found");
    tree.remove_group("/a/b");
    let options = WatchOptions { for_ns: 1, interval_ns: 1 };
    let error = Watch::start(&fs, &target, &options, &Stop::default()).expect_err("gone");
    assert!(error.to_string().contains("/a/b"), "{error}");
}

/// The same steps give the same increases, however many readings fell in between.
#[test]
fn increases_do_not_depend_on_the_number_of_readings() {
    let steps: [&dyn Fn(&FakeTree); 3] = [
        &|tree| {
            tree.group("/a/b", |group| group.stat(3, 1, 1_000_000));
        },
        &|_| std::thread::sleep(std::time::Duration::from_millis(160)),
        &|tree| {
            tree.group("/a/b", |group| group.stat(9, 2, 3_000_000));
        },
    ];
    let recording = watch_every(50_000_000, &tree(), "cgroup:/a/b", &steps);
    assert!(readings(&recording) >= 5, "{}", readings(&recording));
    let e = unthrottle_analysis::explain(&recording);
    let counters = &e.levels[2].increase.counters;
    assert_eq!((counters.nr_periods, counters.nr_throttled), (Some(9), Some(2)));
}

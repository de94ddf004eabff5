//! Everything goes, whatever is inside.

use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use unthrottle_lab::placement::name::GroupName;
use unthrottle_lab::placement::{Guard, roots};
use unthrottle_testkit::alone::alone;
use unthrottle_testkit::require;

use crate::support::{alive, guard, ours, place, quota, shell, spec, started};

#[test]
fn root_everything_goes_on_drop_and_on_panic() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    let mut guard = guard();
    let child = guard.spawn(shell("exec sleep 1000")).expect("starts");
    drop(guard);
    assert_eq!(ours(), before);
    assert!(!alive(child.pid()));
    assert!(child.try_wait().expect("waits").is_some(), "it was collected");

    let mut pid = 0;
    let panicked = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let mut guard = crate::support::guard();
        pid = guard.spawn(shell("exec sleep 1000")).expect("starts").pid();
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    assert_eq!(ours(), before);
    assert!(!alive(pid));
}

#[test]
fn root_a_workload_may_end_by_itself_first() {
    require!(root, v1_cpu);
    let _alone = alone();
    let dir = tempfile::tempdir().expect("a directory");
    let mark = dir.path().join("ended");
    let script =
        format!("trap 'echo > {}; exit' TERM; echo; while :; do sleep 0.01; done", mark.display());
    let mut guard = guard();
    let child = started(&mut guard, &script);
    let removed = guard.remove().expect("removes");
    assert!(mark.exists(), "SIGTERM came first");
    assert_eq!(removed.killed, 0);
    assert!(removed.processes >= 1);
    assert!(!alive(child.pid()));
}

#[test]
fn root_the_deaf_and_their_children_are_killed() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    // SIGTERM is ignored here and, by inheritance, in the children; a quota of 1 % delays them all.
    let limit = spec(Some(quota(1_000, 100_000, 0)));
    let mut guard = Guard::create(&place(), &limit).expect("makes a group");
    let child = started(
        &mut guard,
        "trap '' TERM; for i in 1 2 3; do (sleep 1000 & wait) & done; echo; wait",
    );
    let begin = Instant::now();
    let removed = guard.remove().expect("removes");
    let took = begin.elapsed();
    assert!((1..4).contains(&took.as_secs()), "{took:?}");
    assert!(removed.killed >= 7, "{removed:?}");
    assert!(!alive(child.pid()));
    assert_eq!(ours(), before);
}

#[test]
fn root_groups_below_go_too_and_children_that_left() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    let mut guard = guard();
    let cpu = guard.dirs().cpu;
    let below = format!(
        "mkdir -p {0}/a/b {0}/c; sleep 1000 & echo $! > {0}/a/b/cgroup.procs; echo; wait",
        cpu.display()
    );
    let inside = started(&mut guard, &below);
    let leave: String = roots()
        .expect("a mount")
        .iter()
        .map(|root| format!("echo $$ > {}/cgroup.procs; ", root.display()))
        .collect();
    let left = started(&mut guard, &format!("{leave} echo; exec sleep 1000"));
    let removed = guard.remove().expect("removes");
    assert!(!alive(inside.pid()) && !alive(left.pid()));
    assert_eq!(ours(), before);
    assert_eq!(removed.groups[..4].last(), Some(&cpu), "deepest first: {removed:?}");
}

#[test]
fn root_guards_do_not_meet() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    let mut first = guard();
    let mut second = guard();
    assert_ne!(first.path(), second.path());
    let one = first.spawn(shell("exec sleep 1000")).expect("starts");
    let two = second.spawn(shell("exec sleep 1000")).expect("starts");
    first.remove().expect("removes");
    assert!(!alive(one.pid()) && alive(two.pid()));
    second.remove().expect("removes");

    // A name that is taken is passed over: the counter is this process', so take the next ones.
    let next = GroupName::fresh().expect("reads /proc");
    let parent = place().cpu_dir;
    let taken: Vec<_> =
        (1..4).map(|n| parent.join(GroupName { n: next.n + n, ..next }.to_string())).collect();
    taken.iter().for_each(|dir| std::fs::create_dir(dir).expect("makes"));
    let third = guard();
    assert!(!taken.contains(&third.dirs().cpu));
    third.remove().expect("removes");
    taken.iter().for_each(|dir| std::fs::remove_dir(dir).expect("still there"));

    // Many at once, made and removed from several threads.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let mut guard = guard();
                    guard.spawn(shell("exec sleep 1000")).expect("starts");
                    guard.remove().expect("removes");
                }
            });
        }
    });
    assert_eq!(ours(), before);
}

#[test]
fn root_fifty_times_nothing_is_left() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    for round in 0..50 {
        let mut guard = guard();
        // Ends at any point of its life: before exec, busy, exiting.
        for _ in 0..round % 4 {
            guard.spawn(shell("i=0; while [ $i -lt 300 ]; do i=$((i+1)); done")).expect("starts");
        }
        std::thread::sleep(Duration::from_micros(round * 200));
        guard.remove().expect("removes");
    }
    assert_eq!(ours(), before);
}

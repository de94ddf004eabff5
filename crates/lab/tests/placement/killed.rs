//! After SIGKILL.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use unthrottle_lab::placement::name::{GroupName, Role, pid_namespace};
use unthrottle_lab::placement::{Kept, clean, roots};
use unthrottle_testkit::alone::alone;
use unthrottle_testkit::require;

use crate::support::{SOON, alive, guard, helper, lines_of, ours, place, read, within};

#[test]
fn root_children_die_with_a_killed_parent_and_the_next_start_cleans() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    let mut parent = helper("hold").spawn().expect("starts");
    let line = lines_of(parent.stdout.take().expect("piped")).next().expect("a line");
    let (child, dir) = line.split_once(' ').expect("two words");
    let (child, dir) = (child.parse().expect("a pid"), PathBuf::from(dir));
    assert!(alive(child));
    within(SOON, "the grandchild", || read(&dir, "cgroup.procs").lines().count() == 2);

    parent.kill().expect("kills");
    within(SOON, "the child dies", || !alive(child));
    // Not waited for yet: an owner that is only a name in the process table owns nothing.
    let report = clean(&roots().expect("a mount")).expect("cleans");
    assert!(report.removed.contains(&dir), "{report:?}");
    assert_eq!(report.killed, 1, "the grandchild: {report:?}");
    assert_eq!(report.failed, []);
    assert_eq!(ours(), before);
    parent.wait().expect("waits");

    let mut parent = helper("hold").spawn().expect("starts");
    lines_of(parent.stdout.take().expect("piped")).next().expect("a line");
    parent.kill().expect("kills");
    parent.wait().expect("waits");
    assert_ne!(ours(), before);
    let next = guard();
    assert!(!next.cleaned().is_empty());
    next.remove().expect("removes");
    assert_eq!(ours(), before);
}

#[test]
fn root_only_stale_groups_of_ours_are_cleaned() {
    require!(root, v1_cpu);
    let _alone = alone();
    let live = guard();
    let parent = place().cpu_dir;
    let ended = {
        let mut child = Command::new("true").spawn().expect("starts");
        child.wait().expect("waits");
        child.id()
    };
    let pid_ns = pid_namespace().expect("reads /proc");
    let stale = GroupName { pid_ns, pid: ended, start: 1, n: 0, role: Role::Workload };
    // Of a namespace that does not exist: from the first one, where all are seen, its owner is dead.
    let dead = parent.join(GroupName { pid_ns: 1, ..stale }.to_string());
    let reused = parent.join(GroupName { pid: std::process::id(), ..stale }.to_string());
    let similar = parent.join(format!("{stale}-x"));
    let plain = parent.join("unthrottle-test");
    let nested = plain.join(stale.to_string());
    let stale = parent.join(stale.to_string());
    let keep = [&similar, &plain];
    for dir in keep.into_iter().chain([&stale, &reused, &nested, &dead]) {
        std::fs::create_dir(dir).expect("makes");
    }
    let report = clean(&roots().expect("a mount")).expect("cleans");
    let kept_are_there = keep.map(|dir| dir.exists());
    for dir in keep {
        std::fs::remove_dir(dir).expect("removes");
    }
    assert_eq!(kept_are_there, [true; 2]);
    let removed: BTreeSet<_> = report.removed.iter().collect();
    assert_eq!(removed, BTreeSet::from([&stale, &reused, &nested, &dead]));
    assert!(live.dirs().cpu.exists());
    let me = Kept::Live { pid: std::process::id() };
    assert!(report.kept.contains(&(live.dirs().cpu, me)), "{report:?}");
    assert_eq!(report.failed, []);
}

#[test]
fn root_killed_at_any_moment_nothing_is_left_after_cleaning() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    for round in 0..15 {
        let mut parent = helper("cycle").spawn().expect("starts");
        // Kept open, or the helper would end by itself.
        let mut lines = lines_of(parent.stdout.take().expect("piped"));
        lines.next().expect("a line");
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_micros((seed >> 33) % 30_000));
        parent.kill().expect("kills");
        parent.wait().expect("waits");
        let report = clean(&roots().expect("a mount")).expect("cleans");
        assert_eq!(report.failed, [], "round {round}");
        assert_eq!(ours(), before, "round {round}: {report:?}");
    }
}

//! Threads that wait for a CPU: told by their schedstat files, and never mixed up with stops.

use unthrottle_analysis::{FindingVerdict, Verdict};
use unthrottle_testkit::FakeTree;

use crate::support::{explain, finding, look, loss};

/// A busy group with two processes, one in a subgroup.
fn busy() -> FakeTree {
    let tree = FakeTree::v1_split();
    tree.group("/app", |group| group.procs(&[7]));
    tree.group("/app/worker", |group| group.procs(&[8]));
    tree.process_in(7, "/app", "main").process_in(8, "/app/worker", "worker");
    tree.file("proc/7/task/7/schedstat", "900000000000 800000000000 5\n");
    tree
}

/// Adds CPU time and waiting to both threads, ms.
fn ran(tree: &FakeTree, on_cpu_ms: u64, waited_ms: u64) {
    let (past, ms) = (900_000_000_000_u64, 1_000_000);
    let (on_cpu, waited) = (on_cpu_ms * ms, waited_ms * ms);
    tree.file(
        "proc/7/task/7/schedstat",
        &format!("{} {} 9\n", past + on_cpu, 800_000_000_000 + waited),
    )
    .file("proc/8/task/8/schedstat", &format!("{on_cpu} {waited} 9\n"));
}

#[test]
fn threads_that_wait_for_a_tenth_of_what_they_want_are_contended() {
    let e = explain(&busy(), "cgroup:/app", &[&|tree| ran(tree, 18, 2)]);
    assert_eq!(e.verdict, Verdict::Contention);
    let waiting = e.waiting.expect("threads");
    assert_eq!((waiting.on_cpu_ns, waiting.run_delay_ns), (36_000_000, 4_000_000));
    assert_eq!(waiting.threads, 2, "subgroups belong to the target");
    assert_eq!(finding(&e, "contention"), Some(FindingVerdict::Accepted));
}

#[test]
fn threads_that_wait_for_less_are_not() {
    let e = explain(&busy(), "cgroup:/app", &[&|tree| ran(tree, 19, 2)]);
    assert_eq!(e.waiting.and_then(|waiting| waiting.ratio()), Some(2.0 / 21.0));
    assert_eq!(e.verdict, Verdict::NotThrottled);
    assert_eq!(finding(&e, "contention"), Some(FindingVerdict::Rejected));
}

/// What threads did before the watch is not theirs in it.
#[test]
fn the_past_of_a_thread_does_not_count() {
    let e = look(&busy(), "cgroup:/app");
    assert_eq!(e.waiting.map(|waiting| (waiting.on_cpu_ns, waiting.run_delay_ns)), Some((0, 0)));
    assert_eq!(e.verdict, Verdict::NotThrottled);
}

/// One late wake-up of an idle service is no contention.
#[test]
fn a_target_that_wants_next_to_nothing_is_not_contended() {
    let e = explain(
        &busy(),
        "cgroup:/app",
        &[&|tree| {
            tree.file("proc/8/task/8/schedstat", "5 15 2\n");
        }],
    );
    assert_eq!(e.waiting.and_then(|waiting| waiting.ratio()), Some(0.75));
    assert_eq!(e.verdict, Verdict::NotThrottled);
}

/// While a quota stops the target, its waiting is the quota's: nothing can be said of neighbours.
#[test]
fn waiting_in_stops_is_throttling_and_no_contention() {
    let tree = busy();
    tree.group("/app", |group| group.quota(20_000, 100_000));
    let e = explain(
        &tree,
        "cgroup:/app",
        &[&|tree| {
            ran(tree, 10, 40);
            tree.group("/app", |group| group.stat(5, 4, 200_000_000).usage_ns(20_000_000));
        }],
    );
    assert_eq!(e.verdict, Verdict::Throttled);
    assert_eq!(finding(&e, "contention"), Some(FindingVerdict::NotEnoughData));
}

/// A thread that began while watched brings no past; one that moved in has one, which is cut.
#[test]
fn new_threads_count_from_their_beginning_and_at_most_for_the_interval() {
    let e = explain(
        &busy(),
        "cgroup:/app",
        &[&|tree| {
            tree.group("/app", |group| group.procs(&[7, 9]));
            tree.process_in(9, "/app", "moved-in");
            tree.file("proc/9/task/9/schedstat", "3600000000000 0 1\n");
        }],
    );
    let on_cpu_ns = e.waiting.expect("threads").on_cpu_ns;
    let window_ns = e.window.end_ns - e.window.start_ns;
    assert!(on_cpu_ns > 0 && on_cpu_ns < window_ns + 1_000_000_000, "{on_cpu_ns} of {window_ns}");
}

/// A kernel without SCHED_INFO, or a user who may not read it.
#[test]
fn threads_that_cannot_be_read_leave_contention_open() {
    let tree = busy();
    tree.remove("proc/7/task/7/schedstat").remove("proc/8/task/8/schedstat");
    let e = look(&tree, "cgroup:/app");
    assert_eq!(e.waiting, None);
    assert_eq!(finding(&e, "contention"), Some(FindingVerdict::NotEnoughData));
    assert!(loss(&e, "findings.contention").is_some());
}

/// A group without threads wants no CPU, and that is known.
#[test]
fn a_group_without_threads_is_not_contended() {
    let tree = FakeTree::v2();
    tree.group("/empty", |group| group);
    let e = look(&tree, "cgroup:/empty");
    assert_eq!(finding(&e, "contention"), Some(FindingVerdict::Rejected));
    assert_eq!(loss(&e, "findings.contention"), None);
}

/// The kernel writes 0 for a process outside of the reader's PID namespace.
#[test]
fn processes_of_another_pid_namespace_are_threads_that_cannot_be_read() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group.procs(&[0, 0, 0]));
    let e = look(&tree, "cgroup:/app");
    assert_eq!(finding(&e, "contention"), Some(FindingVerdict::NotEnoughData));
    assert!(loss(&e, "findings.contention").is_some());
}

/// With `hidepid` a process is listed in its group, and is not in /proc.
#[test]
fn processes_that_proc_hides_are_threads_that_cannot_be_read() {
    let tree = FakeTree::v1_split();
    tree.group("/app", |group| group.procs(&[7]));
    let e = look(&tree, "cgroup:/app");
    assert_eq!(finding(&e, "contention"), Some(FindingVerdict::NotEnoughData));
}

/// C052: pressure rises when the quota stops tasks, too; alone it says nothing of neighbours.
#[test]
fn pressure_under_a_quota_is_not_contention() {
    let tree = FakeTree::v2();
    let psi = |total: u64| {
        format!(
            "some avg10=58.43 avg60=0 avg300=0 total={total}\nfull avg10=58.12 avg60=0 avg300=0 total={total}\n"
        )
    };
    tree.group("/app", |group| group.quota(50_000, 100_000).file("cpu.pressure", &psi(100)));
    let e = explain(
        &tree,
        "cgroup:/app",
        &[&|tree| {
            tree.group("/app", |group| {
                group
                    .stat(7, 4, 90_000_000)
                    .usage_ns(300_000_000)
                    .file("cpu.pressure", &psi(40_100))
            });
        }],
    );
    assert_eq!(e.verdict, Verdict::Throttled);
    let counters = &e.levels[1].increase.counters;
    assert_eq!((counters.psi_some_ns, counters.psi_full_ns), (Some(40_000_000), Some(40_000_000)));
    assert_ne!(finding(&e, "contention"), Some(FindingVerdict::Accepted));
}

/// /proc/stat: user nice system idle iowait irq softirq steal, in hundredths of a second.
#[test]
fn steal_and_other_load_come_from_proc_stat() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group).file("proc/stat", "cpu  100 0 50 10000 10 0 5 0 0 0\n");
    let e = explain(
        &tree,
        "cgroup:/app",
        &[&|tree| {
            tree.file("proc/stat", "cpu  110 0 50 10010 10 0 5 5 0 0\n");
        }],
    );
    let host = e.host.expect("the machine");
    assert_eq!(host.steal_ratio, 5.0 / 25.0);
    assert_eq!(finding(&e, "steal"), Some(FindingVerdict::Accepted));
    // 100 ms of others in a window of about a tenth of a second.
    assert!(host.other_cores.is_some_and(|cores| cores > 0.0));
}

#[test]
fn without_proc_stat_the_machine_is_unknown() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group).remove("proc/stat");
    let e = look(&tree, "cgroup:/app");
    assert_eq!(e.host, None);
    assert_eq!(finding(&e, "steal"), Some(FindingVerdict::NotEnoughData));
    assert!(loss(&e, "machine").is_some(), "{:?}", e.losses);
}

//! The demonstration, and that nothing stays behind however it ends.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use unthrottle_testkit::alone::alone;
use unthrottle_testkit::require;

use crate::support::{BINARY, code, json, lab_groups, number, run, said, wait_until, word};

#[test]
fn the_same_arrivals_are_throttled_at_half_a_core_and_hardly_at_one() {
    require!(root, v1_cpu);
    let _alone = alone();
    let output = run(&["demo", "--for", "15s", "--format", "json"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let document = json(&output);
    let runs = document["runs"].as_array().expect("runs");
    let (half, whole) = (&runs[0], &runs[1]);
    assert_eq!(word(half, "/verdict"), "throttled");
    assert_eq!(number(half, "/effective/limit_cores"), 0.5);
    assert_eq!(number(whole, "/effective/limit_cores"), 1.0);
    let requests = number(half, "/requests/count");
    assert!(requests > 100.0);
    assert_eq!(requests, number(whole, "/requests/count"), "the same arrivals");
    for run in [half, whole] {
        assert_eq!(number(run, "/requests/completed_count"), requests);
        // 20 ms of CPU a request and some tens of microseconds around it.
        let used = number(run, "/counters/usage_cores") * number(run, "/window/seconds");
        let a_request_ms = used * 1e3 / requests;
        assert!((20.0..22.0).contains(&a_request_ms), "{a_request_ms} ms");
    }
    let throttled = |run| number(run, "/counters/nr_throttled");
    assert!(throttled(half) > throttled(whole), "{document:#}");
    assert!(number(half, "/requests/p99_ms") > number(whole, "/requests/p99_ms"));
    assert!(number(half, "/requests/p50_ms") >= 20.0);
    assert_eq!(document["published"].as_array().map(Vec::len), Some(2));
    assert!(!document["removed"].as_array().expect("removed").is_empty());
    assert_eq!(lab_groups(), Vec::<String>::new());
}

fn start() -> Child {
    let child = Command::new(BINARY)
        .args(["demo", "--for", "60s"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("cannot start unthrottle");
    wait_until("the service runs in its group", || {
        lab_groups().iter().any(|group| !members(group).is_empty())
    });
    std::thread::sleep(Duration::from_millis(500));
    child
}

fn members(group: &str) -> Vec<u32> {
    let text = std::fs::read_to_string(format!("{group}/cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn kill(child: &Child, signal: Signal) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, signal).expect("kill");
}

#[test]
fn a_signal_in_the_middle_leaves_nothing_behind() {
    require!(root, v1_cpu);
    let _alone = alone();
    for (signal, expected) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let child = start();
        let service: Vec<u32> = lab_groups().iter().flat_map(|group| members(group)).collect();
        assert!(!service.is_empty());
        kill(&child, signal);
        let output = child.wait_with_output().expect("demo");
        assert_eq!(code(&output), expected, "{}", said(&output));
        assert!(said(&output).contains("removed"), "{}", said(&output));
        assert_eq!(lab_groups(), Vec::<String>::new());
        for pid in service {
            assert!(!std::path::Path::new(&format!("/proc/{pid}/exe")).exists(), "{pid} runs");
        }
    }
}

struct KilledAtTheEnd(Child);

impl Drop for KilledAtTheEnd {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_group_of_a_pid_namespace_is_kept_while_it_lives_and_removed_when_it_is_dead() {
    require!(root, v1_cpu);
    let _alone = alone();
    // What an earlier, broken run of these tests may have left.
    run(&["lab", "clean"]);
    let child = Command::new("unshare")
        .args(["--pid", "--fork", "--mount-proc", "--kill-child=KILL", BINARY])
        .args(["lab", "serve", "--limit", "0.2", "--listen", "127.0.0.1:0"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("cannot start unshare");
    // Also when an assertion fails, the namespace must not live on.
    let mut child = KilledAtTheEnd(child);
    // Its owner is process 1 of that namespace.
    let ours = || -> Vec<String> {
        lab_groups().into_iter().filter(|group| group.split('-').nth(2) == Some("1")).collect()
    };
    wait_until("the server runs in its group", || {
        ours().iter().any(|group| !members(group).is_empty())
    });
    let output = run(&["lab", "clean"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for group in ours() {
        assert!(text.contains(&format!("kept {group}: its owner is in another")), "{text}");
    }
    kill(&child.0, Signal::KILL);
    child.0.wait().expect("unshare");
    wait_until("the namespace is dead", || ours().iter().all(|group| members(group).is_empty()));
    assert!(!ours().is_empty());
    let output = run(&["lab", "clean"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("removed"), "{text}{}", said(&output));
    assert_eq!(ours(), Vec::<String>::new());
}

#[test]
fn after_a_kill_the_service_is_dead_and_the_next_start_cleans_up() {
    require!(root, v1_cpu);
    let _alone = alone();
    let mut child = start();
    kill(&child, Signal::KILL);
    child.wait().expect("demo");
    wait_until("the kernel ended the service", || {
        lab_groups().iter().all(|group| members(group).is_empty())
    });
    assert!(!lab_groups().is_empty(), "nobody was there to remove the group");
    let output = run(&["demo", "--for", "1s", "--format", "json"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert_eq!(lab_groups(), Vec::<String>::new());

    let mut child = start();
    kill(&child, Signal::KILL);
    child.wait().expect("demo");
    let output = run(&["lab", "clean"]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("removed /sys/fs/cgroup/cpu/"));
    assert_eq!(lab_groups(), Vec::<String>::new());
}

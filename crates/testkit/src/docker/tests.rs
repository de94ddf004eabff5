//! A container with a quota, seen from outside; and nothing left behind.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use super::*;
use crate::{gate, require};

fn number(text: &str, key: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
    line.unwrap().parse().unwrap()
}

#[test]
fn a_container_with_a_quota_is_throttled_and_removed() {
    require!(dockerd, v1_cpu);
    let mount = gate::v1_cpu().unwrap();
    let engine = Engine::start();
    let container =
        engine.run(&["--cpus", "0.1", "--network", "host"], &["sh", "-c", "while :; do :; done"]);
    assert_eq!(container.id.len(), 64);
    let group = mount.join(engine.cgroup(&container).trim_start_matches('/'));
    let read = |name: &str| std::fs::read_to_string(group.join(name)).unwrap();
    assert_eq!(read("cpu.cfs_quota_us").trim(), "10000");
    assert_eq!(read("cpu.cfs_period_us").trim(), "100000");
    assert!(read("cgroup.procs").lines().any(|line| line == container.pid.to_string()));
    let before = read("cpu.stat");
    std::thread::sleep(Duration::from_secs(1));
    let after = read("cpu.stat");
    let grown = |key| number(&after, key) - number(&before, key);
    // A busy thread in a tenth of a CPU is stopped in about every period, on a busy machine too.
    assert!(grown("nr_periods") >= 5, "{before}{after}");
    assert!(grown("nr_throttled") >= 2, "{before}{after}");

    let output = engine.exec(&container, &["cat", "/proc/self/comm"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "cat\n");

    engine.rm(&container);
    assert!(!group.exists());
    assert!(!is_alive(container.pid));

    // A second one stays until the engine goes.
    let container = engine.run(&["--network", "none"], &["sleep", "1000"]);
    let (directory, parent) = (engine.directory.path().to_owned(), engine.parent.clone());
    drop(engine);
    assert!(!is_alive(container.pid));
    assert!(!directory.exists());
    for hierarchy in hierarchies::mounted() {
        let left = hierarchy.point.join(parent.trim_start_matches('/'));
        assert!(!left.exists(), "{}", left.display());
    }
}

/// Set in the process that is killed while its engine runs.
const TO_BE_KILLED: &str = "UNTHROTTLE_TEST_TO_BE_KILLED";

#[test]
fn an_engine_does_not_outlive_a_test_that_is_killed() {
    require!(dockerd, v1_cpu);
    if std::env::var_os(TO_BE_KILLED).is_some() {
        let engine = Engine::start();
        let container = engine.run(&["--network", "none"], &["sleep", "1000"]);
        let daemon = std::fs::read_to_string(daemon::pid_file(engine.directory.path())).unwrap();
        // Not captured by the harness, which would show it only when the test has ended.
        let line = format!("pids {} {}\n", container.pid, daemon.trim());
        std::io::stdout().write_all(line.as_bytes()).unwrap();
        std::thread::sleep(Duration::from_secs(1000));
    }
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "docker::tests::an_engine_does_not_outlive_a_test_that_is_killed"])
        .env(TO_BE_KILLED, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let name = format!("{PREFIX}{}-0", child.id());
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let pids: Vec<u32> = loop {
        let mut line = String::new();
        assert!(output.read_line(&mut line).unwrap() > 0, "the child ended");
        // The harness's own words come first on the same line.
        if let Some((_, pids)) = line.split_once("pids ") {
            break pids.split_whitespace().map(|pid| pid.parse().unwrap()).collect();
        }
    };
    assert!(pids.iter().all(|pid| is_alive(*pid)), "{pids:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = Instant::now();
    while pids.iter().any(|pid| is_alive(*pid)) {
        assert!(killed.elapsed() < Duration::from_secs(60), "still there: {pids:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
    sweep();
    let mut places: Vec<_> = hierarchies::mounted().into_iter().map(|h| h.point).collect();
    places.push("/var/tmp".into());
    for place in places {
        for entry in std::fs::read_dir(&place).unwrap().flatten() {
            let left = entry.file_name().to_string_lossy().starts_with(&name);
            assert!(!left, "{}", entry.path().display());
        }
    }
}

#[test]
fn the_owner_is_read_from_a_name() {
    assert_eq!(owner("unthrottle-docker-123-0-AbC"), Some(123));
    assert_eq!(owner("unthrottle-docker-123"), Some(123));
    assert_eq!(owner("unthrottle-docker-x"), None);
    assert_eq!(owner("docker-123"), None);
}

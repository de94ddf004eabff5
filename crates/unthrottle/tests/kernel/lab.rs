//! Workload and load, from the command line, against the kernel's own accounts.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use unthrottle_testkit::alone::alone;
use unthrottle_testkit::real_group::RealGroup;
use unthrottle_testkit::require;

use crate::support::{BINARY, code, json, lab_groups, number, run, said, word};

/// Starts a server and reads where it listens.
fn serve(mut command: Command) -> (Child, String) {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("cannot start the server");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("stdout")).read_line(&mut line).expect("a line");
    let ready: Value = serde_json::from_str(&line).expect("JSON");
    (child, format!("http://{}/", ready["listening"].as_str().expect("an address")))
}

fn end(mut child: Child) -> Option<i32> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a pid");
    kill_process(pid, Signal::TERM).expect("kill");
    child.wait().expect("the server").code()
}

#[test]
fn what_the_server_logs_is_what_the_kernel_accounts() {
    require!(root, v1_cpu);
    let _alone = alone();
    let directory = tempfile::tempdir().expect("a directory");
    for burn in ["clock", "hash"] {
        let group = RealGroup::new("log");
        group.write("cpu.shares", "200000");
        let log = directory.path().join(burn);
        let log_path = log.display().to_string();
        let serve_args = [
            BINARY,
            "lab",
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--workers",
            "2",
            "--cost",
            "10ms",
            "--burn",
            burn,
            "--log",
            &log_path,
        ];
        let (child, url) = serve(group.command(&serve_args));
        let before = group.counters()["usage"];
        let output = run(&[
            "lab",
            "load",
            &url,
            "--arrivals",
            "uniform:20/s",
            "--for",
            "3s",
            "--format",
            "json",
        ]);
        let after = group.counters()["usage"];
        assert_eq!(end(child), Some(0));
        let document = json(&output);
        assert_eq!(number(&document, "/requests/count"), 60.0);
        assert_eq!(number(&document, "/requests/completed_count"), 60.0, "{document:#}");
        let text = std::fs::read_to_string(&log).expect("the log");
        let cpu_ns: Vec<i64> = text
            .lines()
            .skip(1)
            .map(|line| line.rsplit(',').next().expect("a cell").parse().expect("a number"))
            .collect();
        assert_eq!(cpu_ns.len(), 60, "{text}");
        let (logged, accounted): (i64, i64) = (cpu_ns.iter().sum(), after - before);
        // Accepting and the main thread's looks are outside of the log.
        let ratio = accounted as f64 / logged as f64;
        assert!((0.995..1.05).contains(&ratio), "{burn}: {logged} logged, {accounted} accounted");
        if burn == "clock" {
            assert!(cpu_ns.iter().all(|ns| (10_000_000..11_000_000).contains(ns)), "{cpu_ns:?}");
        }
    }
}

#[test]
fn a_server_in_its_own_group_is_explained_with_its_requests() {
    require!(root, v1_cpu);
    let _alone = alone();
    let directory = tempfile::tempdir().expect("a directory");
    let rows = directory.path().join("requests.csv").display().to_string();
    let hdr = directory.path().join("latency.hlog").display().to_string();
    let mut command = Command::new(BINARY);
    command.args(["lab", "serve", "--listen", "127.0.0.1:0", "--limit", "0.2", "--cost", "20ms"]);
    let (child, url) = serve(command);
    let group = lab_groups().into_iter().find(|group| group.contains("/cpu/")).expect("a group");
    let quota = std::fs::read_to_string(format!("{group}/cpu.cfs_quota_us")).expect("quota");
    assert_eq!(quota.trim(), "20000");
    let load = Command::new(BINARY)
        .args(["lab", "load", &url, "--arrivals", "batch:2@500ms", "--for", "5s"])
        .args(["--requests", &rows, "--hdr", &hdr])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .expect("cannot start the load");
    crate::support::wait_until("rows", || std::path::Path::new(&rows).exists());
    let target = format!("cgroup:{group}");
    let args = ["explain", &target, "--for", "4s", "--requests", &rows, "--format", "json"];
    let output = run(&[&args[..], &["--fail-on", "p99=50ms"]].concat());
    let document = json(&output);
    assert_eq!(code(&output), 1, "two requests of 20 ms at once cannot end within 50 ms here");
    assert_eq!(word(&document, "/verdict"), "throttled", "{document:#}");
    assert!(number(&document, "/requests/count") >= 12.0, "{document:#}");
    assert!(number(&document, "/requests/p99_ms") > 50.0);
    let output = load.wait_with_output().expect("the load");
    assert_eq!(output.status.code(), Some(0));
    let log = std::fs::read_to_string(&hdr).expect("the HdrHistogram log");
    assert!(log.contains("Tag=intended") && log.contains("Tag=sent"), "{log}");
    let text = std::fs::read_to_string(&rows).expect("rows");
    assert_eq!(text.lines().count(), 21, "a header and each of the 20 sends");
    assert_eq!(end(child), Some(0));
    assert_eq!(lab_groups(), Vec::<String>::new());
}

#[test]
fn limits_that_the_kernel_would_refuse_are_refused_before() {
    require!(root, v1_cpu);
    let _alone = alone();
    for (args, name) in [
        (&["--limit", "0.001"][..], "quota"),
        (&["--limit", "0.5", "--period", "2s"][..], "period"),
        (&["--limit", "0.5", "--burst", "60ms"][..], "burst"),
    ] {
        let output = run(&[&["lab", "serve", "--listen", "127.0.0.1:0"], args].concat());
        assert_eq!(code(&output), 2, "{name}: {}", said(&output));
        assert!(
            said(&output).contains(name) && said(&output).contains("hint:"),
            "{}",
            said(&output)
        );
        assert_eq!(lab_groups(), Vec::<String>::new());
    }
}

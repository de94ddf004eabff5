//! Containers of a real Docker Engine, from outside and from inside.

use unthrottle_testkit::alone::alone;
use unthrottle_testkit::docker::Engine;
use unthrottle_testkit::require;

use crate::support::{BINARY, explain, json, level, lost, number, run, word};

const SPIN: [&str; 3] = ["sh", "-c", "while :; do :; done"];

#[test]
fn a_container_is_found_by_its_id_and_by_its_process() {
    require!(root, v1_cpu, dockerd);
    let _alone = alone();
    let engine = Engine::start();
    let container =
        engine.run(&["--cpus", "0.5", "--cpu-shares", "200000", "--network", "host"], &SPIN);
    let cgroup = engine.cgroup(&container);
    let stat = std::path::Path::new("/sys/fs/cgroup/cpu").join(&cgroup[1..]).join("cpu.stat");
    let before = std::fs::read_to_string(&stat).expect("cpu.stat");
    for target in [
        format!("docker:{}", &container.id[..12]),
        format!("docker:{}", container.id),
        format!("pid:{}", container.pid),
        container.id[..12].to_owned(),
    ] {
        let document = explain(&target, "1500ms");
        assert_eq!(word(&document, "/target/cgroup"), cgroup, "{target}");
        assert_eq!(word(&document, "/verdict"), "throttled", "{document:#}");
        let own = level(&document, &cgroup);
        assert_eq!(
            (own["quota_us"].as_u64(), own["period_us"].as_u64()),
            (Some(50_000), Some(100_000))
        );
        assert_eq!(own["binding"], true);
        assert!(number(&document, "/counters/throttle_ratio") > 0.8, "{document:#}");
    }
    let after = std::fs::read_to_string(&stat).expect("cpu.stat");
    let throttled = |text: &str| -> i64 {
        let line = text.lines().find_map(|line| line.strip_prefix("nr_throttled "));
        line.and_then(|number| number.parse().ok()).expect("nr_throttled")
    };
    // Four times 1.5 s of stops in nearly every period.
    assert!(throttled(&after) - throttled(&before) >= 45);
    let output = run(&["top", "--once", "--for", "1s", "--format", "json"]);
    let top = json(&output);
    let groups = top["groups"].as_array().expect("groups");
    let row = groups.iter().find(|group| group["cgroup"] == cgroup.as_str()).expect("in top");
    assert_eq!(row["limit_cores"], 0.5);
    assert!(number(row, "/lost_ms_per_minute_at_most") > 1000.0, "{row:#}");
    engine.rm(&container);
    let output = run(&["explain", &format!("docker:{}", &container.id[..12]), "--for", "1s"]);
    assert_eq!(output.status.code(), Some(2), "gone");
}

#[test]
fn from_inside_the_own_limit_is_seen_and_hidden_levels_are_told() {
    require!(root, v1_cpu, dockerd);
    let _alone = alone();
    let engine = Engine::start();
    let directory =
        std::path::Path::new(BINARY).parent().expect("a directory").display().to_string();
    let mount = format!("{directory}:{directory}:ro");
    for namespace in ["host", "private"] {
        let options = [
            "--cpus",
            "0.5",
            "--cpu-shares",
            "200000",
            "--network",
            "host",
            "--cgroupns",
            namespace,
            "-v",
            mount.as_str(),
        ];
        let container = engine.run(&options, &SPIN);
        let output = engine
            .exec(&container, &[BINARY, "explain", "self", "--for", "2s", "--format", "json"]);
        let document = json(&output);
        assert_eq!(word(&document, "/verdict"), "throttled", "{namespace}: {document:#}");
        assert_eq!(number(&document, "/effective/limit_cores"), 0.5, "{namespace}");
        assert!(lost(&document, "limits", "not visible"), "{namespace}: {document:#}");
        let pid = engine.exec(&container, &[BINARY, "explain", "pid:1", "--for", "1s"]);
        assert_eq!(pid.status.code(), Some(0), "{namespace}");
        engine.rm(&container);
    }
}

#[test]
fn an_agent_with_the_hosts_files_sees_every_level() {
    require!(root, v1_cpu, dockerd);
    let _alone = alone();
    let engine = Engine::start();
    let directory =
        std::path::Path::new(BINARY).parent().expect("a directory").display().to_string();
    let mount = format!("{directory}:{directory}:ro");
    let target =
        engine.run(&["--cpus", "0.5", "--cpu-shares", "200000", "--network", "host"], &SPIN);
    for namespace in ["host", "private"] {
        let options = ["--network", "host", "--cgroupns", namespace, "-v", mount.as_str()];
        let host = ["-v", "/proc:/host/proc:ro", "-v", "/sys:/host/sys:ro"];
        let agent = engine.run(&[&options[..], &host[..]].concat(), &["sleep", "1000"]);
        for asked in [format!("docker:{}", &target.id[..12]), format!("pid:{}", target.pid)] {
            let command = [BINARY, "--root", "/host", "explain", &asked, "--for", "2s"];
            let output = engine.exec(&agent, &[&command[..], &["--format", "json"]].concat());
            let document = json(&output);
            assert_eq!(word(&document, "/target/cgroup"), engine.cgroup(&target), "{namespace}");
            assert_eq!(word(&document, "/limits/0/cgroup"), "/", "{namespace}: {document:#}");
            assert_eq!(word(&document, "/verdict"), "throttled", "{namespace}: {document:#}");
            assert!(!lost(&document, "limits", "not visible"), "{namespace}: {document:#}");
        }
        let command = [BINARY, "--root", "/host", "explain", "self", "--for", "1s"];
        let output = engine.exec(&agent, &[&command[..], &["--format", "json"]].concat());
        assert_eq!(word(&json(&output), "/target/cgroup"), engine.cgroup(&agent), "{namespace}");
        engine.rm(&agent);
    }
}

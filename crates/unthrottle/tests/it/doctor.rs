//! `doctor` over made-up machines.

use unthrottle_testkit::FakeTree;

use crate::support::{json, on, run};

/// Only what a tree decides: who runs the tests has other privileges than who wrote them.
fn of_the_tree(text: &str) -> String {
    let of_the_user = ["real-time priority", "own groups", "BPF privileges"];
    let mut kept = Vec::new();
    let mut keep = true;
    for line in text.lines() {
        let detail = line.starts_with("             ");
        if !detail {
            keep = !of_the_user.iter().any(|name| line.contains(name));
        }
        if keep {
            kept.push(line);
        }
    }
    kept.join("\n")
}

#[test]
fn a_hybrid_host_is_described() {
    let tree = FakeTree::hybrid();
    tree.group("/system.slice/web.service", |group| group.quota(50_000, 100_000));
    tree.file("run/docker.sock", "").file("proc/pressure/cpu", "some avg10=0 total=0\n");
    let ran = run(on(&tree, &["doctor"]));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    insta::assert_snapshot!("doctor-hybrid", of_the_tree(&ran.out));
}

#[test]
fn a_container_on_v2_is_told_that_levels_are_hidden() {
    let tree = FakeTree::v2();
    tree.mountinfo("31 24 0:28 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    tree.group("/", |group| group.file("cgroup.type", "domain\n")).reader_in("/docker/x");
    let ran = run(on(&tree, &["doctor"]));
    assert_eq!(ran.code, 0);
    insta::assert_snapshot!("doctor-container", of_the_tree(&ran.out));
}

#[test]
fn nothing_at_all_is_an_answer_too() {
    let tree = FakeTree::v2();
    tree.remove("proc/self/mountinfo");
    let ran = run(on(&tree, &["doctor"]));
    assert_eq!((ran.code, ran.err.as_str()), (3, ""), "nothing can be measured");
    assert!(ran.out.contains("missing  counters"), "{}", ran.out);
}

#[test]
fn json_and_text_say_the_same() {
    let tree = FakeTree::v1_joined();
    tree.group("/a/b", |group| group.quota(50_000, 100_000));
    let document = json(&run(on(&tree, &["doctor", "--format", "json"])));
    assert_eq!(document["schema"], "unthrottle.doctor/v1");
    assert_eq!(document["kernel"], "6.8.0-fake");
    assert_eq!(document["hierarchy"], "v1:cpu");
    assert_eq!(
        (&document["groups_count"], &document["limited_groups_count"]),
        (&3.into(), &1.into())
    );
    let text = run(on(&tree, &["doctor"])).out;
    for check in document["checks"].as_array().expect("checks") {
        let status = check["status"].as_str().unwrap_or_default();
        let name = check["name"].as_str().unwrap_or_default();
        let line = text.lines().find(|line| line.contains(&format!("  {name}")));
        let line = line.unwrap_or_else(|| panic!("{name} is not in {text}"));
        assert!(line.trim_start().starts_with(status), "{line}");
        // What costs nothing needs no way to get it.
        let idle = ["kprobes", "scheduler statistics"].contains(&name);
        if status != "ok" && !idle {
            assert!(check["hint"].is_string(), "how to get `{name}`: {check:#}");
        }
    }
}

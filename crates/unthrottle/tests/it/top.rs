//! `top` over made-up machines.

use unthrottle_testkit::FakeTree;

use crate::support::{finish, json, masked, on, run, start};

fn host() -> FakeTree {
    let tree = FakeTree::v2();
    let id = "4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a";
    tree.group(&format!("/system.slice/docker-{id}.scope"), |group| {
        group.quota(50_000, 100_000).stat(100, 90, 8_000_000_000)
    });
    tree.group("/system.slice/web.service", |group| group.quota(20_000, 100_000));
    tree.group("/system.slice/db.service", |group| group);
    tree
}

#[test]
fn one_table_of_an_idle_host() {
    let ran = run(on(&host(), &["top", "--once", "--for", "50ms"]));
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    insta::assert_snapshot!("top-idle", masked(&ran.out));
}

#[test]
fn a_host_without_limits_says_so() {
    let tree = FakeTree::v1_split();
    tree.group("/app", |group| group);
    let ran = run(on(&tree, &["top", "--once", "--for", "10ms"]));
    assert_eq!(ran.code, 0);
    assert!(ran.out.contains("no group has a CPU limit"), "{}", ran.out);
}

/// Counters rise all the time, so that the two readings differ whenever they are made.
#[test]
fn the_group_that_was_stopped_longest_stands_first() {
    let tree = host();
    let child = start(on(&tree, &["top", "--once", "--for", "400ms", "--format", "json"]));
    let started = std::time::Instant::now();
    for count in 1..=100_000_u64 {
        tree.group("/system.slice/web.service", |group| {
            group.stat(count, count / 2, count * 1_000_000)
        });
        std::thread::sleep(std::time::Duration::from_millis(2));
        if started.elapsed().as_millis() > 1_500 {
            break;
        }
    }
    let document = json(&finish(child));
    let groups = document["groups"].as_array().expect("groups");
    assert_eq!(groups.len(), 2);
    assert_eq!(groups[0]["cgroup"], "/system.slice/web.service");
    assert!(groups[0]["counters"]["nr_periods"].as_i64() > Some(0), "{groups:#?}");
    assert!(groups[0]["no_ratio"].is_null());
    assert_eq!(groups[1]["name"], "docker:4f2a91c07d3b");
    assert_eq!(groups[1]["no_ratio"], "no_active_period");
    assert!(groups[1]["counters"]["throttle_ratio"].is_null());
    assert_eq!(document["unlimited_count"], 3);
}

/// Without `--once` a table after every interval, until it is told to end.
#[test]
fn tables_follow_each_other_until_sigint() {
    let tree = host();
    let child = start(on(&tree, &["top", "--for", "50ms"]));
    std::thread::sleep(std::time::Duration::from_millis(700));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("SIGINT");
    let ran = finish(child);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.matches("groups with a CPU limit").count() >= 2, "{}", ran.out);
}

#[test]
fn a_group_that_is_removed_meanwhile_does_no_harm() {
    let tree = host();
    let child = start(on(&tree, &["top", "--once", "--for", "300ms", "--format", "json"]));
    std::thread::sleep(std::time::Duration::from_millis(100));
    tree.remove_group("/system.slice/web.service");
    let ran = finish(child);
    assert_eq!(ran.code, 0, "{}", ran.err);
}

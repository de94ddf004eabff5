//! What was not measured is null, and `losses` says why.

use serde_json::Value;
use unthrottle_testkit::FakeTree;

use crate::support::{explain_through, json, throttled_service};

/// Fields whose null is an answer, not a gap.
const MEANT: [&str; 16] = [
    // Unlimited, or no limit that could be read (then `no_limit` says why).
    "/limit_cores",
    "/quota_us",
    "/period_us",
    "/burst_us",
    "/no_limit",
    // A cpuset has no counters; a level without a quota has no periods.
    "/limits/",
    "/counters/nr_",
    "/counters/throttle",
    "/counters/burst_ms",
    // Not every path says what runs it; not every finding and loss has a next step.
    "/target/runtime",
    "/next_step",
    "/hint",
    "/effective/cgroup",
    // Threads that wanted nothing waited for no share of it.
    "/wait_ratio",
    // Of saved files nobody knows these.
    "/host/hz",
    "/host/slice_us",
];

fn nulls(value: &Value, pointer: &str, found: &mut Vec<String>) {
    match value {
        Value::Null => found.push(pointer.to_owned()),
        Value::Object(map) => {
            map.iter().for_each(|(key, value)| nulls(value, &format!("{pointer}/{key}"), found));
        }
        Value::Array(list) => {
            let each = list.iter().enumerate();
            each.for_each(|(at, value)| nulls(value, &format!("{pointer}/{at}"), found));
        }
        _ => {}
    }
}

/// Nulls that no loss explains: a loss of `stops` explains all below it.
fn unexplained(document: &Value) -> Vec<String> {
    let losses = document["losses"].as_array().expect("losses");
    let explained = |pointer: &str| {
        losses.iter().any(|loss| {
            let field = loss["field"].as_str().unwrap_or_default().replace('.', "/");
            pointer[1..].starts_with(&field)
                // Waiting is what contention is found from.
                || (field == "findings/contention" && pointer == "/waiting")
                // Both come from the target's use.
                || (field == "counters/usage_cores"
                    && ["/counters/usage_ratio", "/machine/other_cores"].contains(&pointer))
        })
    };
    let mut found = Vec::new();
    nulls(document, "", &mut found);
    found.retain(|pointer| {
        !explained(pointer) && !MEANT.iter().any(|meant| pointer.contains(meant))
    });
    found
}

#[track_caller]
fn all_explained(tree: &FakeTree, target: &str, step: impl FnOnce(&FakeTree)) -> Value {
    let ran = explain_through(tree, target, &["--format", "json"], step);
    let document = json(&ran);
    assert_eq!(unexplained(&document), Vec::<String>::new(), "{document:#}");
    document
}

#[track_caller]
fn reason(document: &Value, field: &str) -> String {
    let losses = document["losses"].as_array().expect("losses");
    let loss = losses.iter().find(|loss| loss["field"] == field);
    loss.unwrap_or_else(|| panic!("no loss of {field}: {losses:#?}"))["reason"].to_string()
}

#[test]
fn a_throttled_service() {
    let document = all_explained(&throttled_service(), "unit:web", crate::support::throttle);
    reason(&document, "stops");
    reason(&document, "requests");
    reason(&document, "harm");
}

#[test]
fn an_idle_group_of_each_version() {
    for tree in [FakeTree::v1_split(), FakeTree::v1_joined(), FakeTree::v2()] {
        tree.group("/a", |group| group.quota(10_000, 100_000));
        let document = all_explained(&tree, "cgroup:/a", |_| ());
        assert!(document["counters"]["throttle_ratio"].is_null());
        assert!(reason(&document, "counters.throttle_ratio").contains("no_active_period"));
    }
}

#[test]
fn a_group_without_limit() {
    let tree = FakeTree::v2();
    tree.group("/a", |group| group);
    let document = all_explained(&tree, "cgroup:/a", |_| ());
    assert!(reason(&document, "counters.throttle_ratio").contains("no_limit"));
    // Zeros of the file would read as "never throttled".
    for field in ["nr_periods", "nr_throttled", "throttled_ms", "throttle_ratio"] {
        assert!(document["counters"][field].is_null(), "{field}");
    }
}

#[test]
fn files_that_cannot_be_read() {
    for name in ["cpu.stat", "cpu.max", "cpu.weight", "cgroup.procs", "cpuset.cpus.effective"] {
        let tree = throttled_service();
        tree.remove(&format!("sys/fs/cgroup/system.slice/web.service/{name}"));
        all_explained(&tree, "unit:web", |_| ());
    }
    let tree = throttled_service();
    tree.remove("proc/uptime").remove("proc/loadavg");
    tree.remove("sys/devices/system/cpu/online");
    all_explained(&tree, "unit:web", |_| ());
}

#[test]
fn v1_without_accounting() {
    let tree = FakeTree::v1_split();
    tree.group("/a", |group| group.quota(10_000, 100_000).procs(&[7]));
    std::fs::remove_dir_all(tree.directory("cpuacct", "/a")).expect("removed");
    // Its process is not in /proc, so its threads cannot be read either.
    let document = all_explained(&tree, "cgroup:/a", |_| ());
    assert!(document["counters"]["usage_cores"].is_null());
    assert!(reason(&document, "counters.usage_cores").contains("cpuacct"));
}

#[test]
fn hidden_levels() {
    let tree = FakeTree::v2();
    tree.mountinfo("31 24 0:28 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    tree.group("/", |group| group.file("cpu.max", "max 100000\n").file("cgroup.type", "domain\n"));
    tree.reader_in("/docker/x");
    let document = all_explained(&tree, "self", |_| ());
    assert!(reason(&document, "limits").contains("/docker/x"));
}

/// Exact only where the kernel counts; a sum over threads is bounded.
#[test]
fn precision_names_what_is_there() {
    let document = all_explained(&throttled_service(), "unit:web", crate::support::throttle);
    assert_eq!(document["precision"]["/counters/nr_throttled"], "exact");
    assert_eq!(document["precision"]["/counters/throttled_ms"], "bounded");
    assert_eq!(document["precision"]["/counters/usage_cores"], "bounded");
}

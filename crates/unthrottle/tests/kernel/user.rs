//! An ordinary user gets what files anyone may read can tell, and is told what is missing.

use std::path::Path;

use unthrottle_testkit::alone::alone;
use unthrottle_testkit::drop_privileges::command_as_nobody;
use unthrottle_testkit::real_group::RealGroup;
use unthrottle_testkit::require;

use crate::support::{BINARY, code, json, said, word};

#[test]
fn nobody_can_explain_a_group() {
    require!(root, v1_cpu);
    let _alone = alone();
    let mut group = RealGroup::new("nobody");
    group.quota(20_000);
    group.spin(1);
    let nobody = command_as_nobody(Path::new(BINARY));
    let target = format!("cgroup:{}", group.path());
    let output = nobody
        .command()
        .args(["explain", &target, "--for", "2s", "--format", "json"])
        .output()
        .expect("explain");
    assert_eq!(code(&output), 0, "{}", said(&output));
    let document = json(&output);
    assert_eq!(word(&document, "/verdict"), "throttled");
    let losses = document["losses"].as_array().expect("losses");
    assert!(losses.iter().any(|loss| loss["field"] == "stops"), "{document:#}");
}

#[test]
fn doctor_tells_nobody_what_is_missing_and_how_to_get_it() {
    require!(root, v1_cpu);
    let nobody = command_as_nobody(Path::new(BINARY));
    let output = nobody.command().args(["doctor", "--format", "json"]).output().expect("doctor");
    let document = json(&output);
    let checks = document["checks"].as_array().expect("checks");
    for name in ["real-time priority", "own groups", "BPF privileges"] {
        let check = checks.iter().find(|check| check["name"] == name).expect(name);
        assert_eq!(check["status"], "missing", "{check:#}");
        assert!(check["cost"].is_string() && check["hint"].is_string(), "{check:#}");
    }
    let counters = checks.iter().find(|check| check["name"] == "counters").expect("counters");
    assert_eq!(counters["status"], "ok");
}

#[test]
fn demo_tells_nobody_how_to_get_a_group() {
    require!(root, v1_cpu);
    let nobody = command_as_nobody(Path::new(BINARY));
    let output = nobody.command().args(["demo", "--for", "3s"]).output().expect("demo");
    assert_eq!(code(&output), 3, "{}", said(&output));
    let text = said(&output);
    // On v1 only root can: users are not handed groups there.
    assert!(text.contains("/sys/fs/cgroup/cpu") && text.contains("`sudo unthrottle"), "{text}");
    assert!(!text.contains("panicked"), "{text}");
}

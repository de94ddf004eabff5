//! What `explain` prints, as text and as JSON.

use unthrottle_testkit::FakeTree;

use crate::support::{
    Ran, explain_through, json, masked, masked_json, throttle, throttled_service,
};

#[track_caller]
fn text(ran: &Ran) -> String {
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    masked(&ran.out)
}

#[test]
fn a_throttled_service_as_text() {
    let ran = explain_through(&throttled_service(), "unit:web", &[], throttle);
    insta::assert_snapshot!("explain-throttled", text(&ran));
}

#[test]
fn a_throttled_service_as_json() {
    let args = ["--format", "json"];
    let ran = explain_through(&throttled_service(), "unit:web", &args, throttle);
    insta::assert_snapshot!("explain-throttled-json", masked_json(&json(&ran)));
}

#[test]
fn a_pod_whose_container_has_no_limit_as_text() {
    let tree = FakeTree::v1_split();
    let id = "4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a91c07d3b4f2a";
    let pod = "/kubepods/burstable/pod11112222-3333-4444-5555-666677778888";
    tree.group(pod, |group| group.quota(200_000, 100_000).cpuset("0-1"));
    tree.group(&format!("{pod}/{id}"), |group| group);
    let ran = explain_through(&tree, &format!("cri:{}", &id[..12]), &[], |tree| {
        tree.group(pod, |group| group.stat(6, 6, 800_000_000).usage_ns(1_200_000_000));
        tree.group(&format!("{pod}/{id}"), |group| group.usage_ns(1_200_000_000));
    });
    insta::assert_snapshot!("explain-parent", text(&ran));
}

#[test]
fn an_idle_limited_group_as_text() {
    let tree = FakeTree::v1_joined();
    tree.group("/batch", |group| group.quota(50_000, 100_000).burst_us(10_000).procs(&[7]));
    tree.process_in(7, "/batch", "batch");
    let ran = explain_through(&tree, "cgroup:/batch", &[], |_| ());
    insta::assert_snapshot!("explain-idle", text(&ran));
}

#[test]
fn a_group_without_any_limit_as_text() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| {
        group.file("cpu.pressure", "some total=5\nfull total=1\n").procs(&[7])
    });
    tree.process_in(7, "/app", "app").file("proc/pressure/cpu", "some total=9\n");
    let ran = explain_through(&tree, "cgroup:/app", &[], |tree| {
        tree.group("/app", |group| group.usage_ns(90_000_000));
    });
    insta::assert_snapshot!("explain-unlimited", text(&ran));
}

#[test]
fn a_group_whose_limit_changes_as_text() {
    let ran = explain_through(&throttled_service(), "unit:web", &[], |tree| {
        tree.group("/system.slice/web.service", |group| group.quota(150_000, 100_000));
    });
    let text = text(&ran).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("0.5 cores (50000 us per 100000 us)"), "{text}");
    assert!(text.contains("1.5 cores (150000 us per 100000 us)"), "{text}");
}

/// A neighbour keeps the machine busy: three cores of four in the window.
#[test]
fn contention_as_text() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group.procs(&[7])).process_in(7, "/app", "app");
    let ran = explain_through(&tree, "pid:7", &[], |tree| {
        tree.file("proc/7/task/7/schedstat", "100000000 200000000 50\n")
            .file("proc/stat", "cpu  190 0 50 10030 10 0 5 0 0 0\n");
        tree.group("/app", |group| group.usage_ns(100_000_000));
    });
    insta::assert_snapshot!("explain-contention", text(&ran));
}

/// R4's inputs: counters that cannot be of one group.
#[test]
fn contradictory_counters_as_text() {
    let tree = FakeTree::v2();
    tree.group("/app", |group| group.quota(100_000, 100_000));
    let ran = explain_through(&tree, "cgroup:/app", &[], |tree| {
        tree.group("/app", |group| {
            group.stat(184_320, 8_300, 7_200_000_000_000).usage_ns(42_188_000_000_000)
        });
    });
    let text = text(&ran);
    assert!(text.contains("these inputs"), "{text}");
    insta::assert_snapshot!("explain-contradiction", text);
}

#[test]
fn the_verdict_is_one_sentence_at_the_top_and_harm_comes_before_evidence() {
    let ran = explain_through(&throttled_service(), "unit:web", &[], throttle);
    let at = |heading: &str| ran.out.find(heading).unwrap_or_else(|| panic!("no {heading}"));
    let order =
        ["THROTTLED  ", "\nHARM\n", "\nEVIDENCE", "\nCHECKED (", "\nNEXT\n", "\nNOT MEASURED\n"];
    let places: Vec<usize> = order.iter().map(|heading| at(heading)).collect();
    assert!(places.is_sorted(), "{places:?}");
    let sentence = ran.out.split("\n\n").next().unwrap_or_default();
    assert!(sentence.contains("3 of 8 active periods (37.5 %)"), "{sentence}");
}

//! The JSON contract: every document fits its published schema, and `explain` has every field that
//! others rely on.

use serde_json::Value;
use unthrottle_testkit::FakeTree;

use crate::support::{explain_through, json, on, run, throttle, throttled_service};

#[track_caller]
fn fits(name: &str, document: &Value) {
    let schemas = unthrottle::report::contract::schemas();
    let (_, schema) = schemas.iter().find(|(known, _)| *known == name).expect("a schema");
    let validator = jsonschema::validator_for(schema.as_value()).expect("a valid schema");
    let complaints: Vec<String> = validator
        .iter_errors(document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(complaints.is_empty(), "{complaints:#?}\n{document:#}");
}

/// A throttled service with requests: as much as counters can tell.
fn full() -> Value {
    let tree = throttled_service();
    tree.group("/system.slice/web.service", |group| {
        group.burst_us(1_000).file("cpu.pressure", "some total=5\nfull total=1\n")
    });
    let path = tree.root().join("requests.csv");
    std::fs::write(&path, "").expect("written");
    let name = path.display().to_string();
    let args = ["--requests", &name, "--format", "json"];
    json(&explain_through(&tree, "unit:web", &args, |tree| {
        throttle(tree);
        let now_ns = unthrottle_source::monotonic_ns();
        let header = unthrottle::model::requests::CSV_HEADER;
        let row = format!("{now_ns},{now_ns},{0},{0},40000,200,ok", now_ns + 9_000_000);
        std::fs::write(&path, format!("{header}\n{row}\n")).expect("written");
    }))
}

#[test]
fn documents_of_commands_fit_their_schemas() {
    fits("explain", &full());
    let tree = throttled_service();
    for (name, args) in [
        ("explain", &["explain", "unit:web", "--for", "10ms", "--format", "json"][..]),
        ("explain", &["explain", "cgroup:/", "--for", "10ms", "--format", "json"]),
        ("top", &["top", "--once", "--for", "10ms", "--format", "json"]),
        ("doctor", &["doctor", "--format", "json"]),
    ] {
        fits(name, &json(&run(on(&tree, args))));
    }
    let v1 = FakeTree::v1_split();
    v1.group("/a", |group| group.quota(10_000, 100_000));
    v1.remove("sys/fs/cgroup/cpu/a/cpu.stat");
    let args = ["explain", "cgroup:/a", "--for", "10ms", "--format", "json"];
    fits("explain", &json(&run(on(&v1, &args))));
    let empty = FakeTree::v2();
    empty.remove("proc/self/mountinfo");
    fits("doctor", &json(&run(on(&empty, &["doctor", "--format", "json"]))));
}

/// The type of a field: `?` = or null.
fn is(value: &Value, kind: &str) -> bool {
    match kind.strip_suffix('?') {
        Some(kind) => value.is_null() || is(value, kind),
        None => match kind {
            "text" => value.is_string(),
            "number" => value.is_number(),
            "count" => value.is_i64() || value.is_u64(),
            "bool" => value.is_boolean(),
            "list" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("no kind {other}"),
        },
    }
}

/// Every field of version 1, as the design lists them.
const FIELDS: &[(&str, &str)] = &[
    ("/schema", "text"),
    ("/target/name", "text"),
    ("/target/cgroup", "text"),
    ("/target/hierarchy", "text"),
    ("/target/runtime", "text?"),
    ("/window/start", "text"),
    ("/window/end", "text"),
    ("/window/seconds", "number"),
    ("/verdict", "text"),
    ("/limits", "list"),
    ("/limits/0/cgroup", "text"),
    ("/limits/0/kind", "text"),
    ("/limits/0/limit_cores", "number?"),
    ("/limits/0/quota_us", "count?"),
    ("/limits/0/period_us", "count?"),
    ("/limits/0/burst_us", "count?"),
    ("/limits/0/binding", "bool"),
    ("/limits/0/counters", "object?"),
    ("/limits/2/counters/nr_periods", "count"),
    ("/limits/2/counters/nr_throttled", "count"),
    ("/limits/2/counters/throttled_ms", "number"),
    ("/limits/2/counters/throttle_ratio", "number"),
    ("/limits/2/counters/throttle_wall_ratio", "number"),
    ("/limits/2/counters/usage_cores", "number"),
    ("/limits/2/counters/usage_ratio", "number"),
    ("/limits/2/counters/nr_bursts", "count"),
    ("/limits/2/counters/burst_ms", "number"),
    ("/counters/nr_periods", "count"),
    ("/counters/nr_throttled", "count"),
    ("/counters/throttled_ms", "number"),
    ("/counters/throttle_ratio", "number"),
    ("/counters/throttle_wall_ratio", "number"),
    ("/counters/usage_cores", "number"),
    ("/counters/usage_ratio", "number"),
    ("/counters/nr_bursts", "count"),
    ("/counters/burst_ms", "number"),
    ("/stops/method", "text"),
    ("/stops/precision", "text"),
    ("/stops/count", "count?"),
    ("/stops/some_ms", "number?"),
    ("/stops/full_ms", "number?"),
    ("/stops/median_ms", "number?"),
    ("/stops/p99_ms", "number?"),
    ("/stops/max_ms", "number?"),
    ("/stops/per_cpu/count", "count?"),
    ("/stops/per_cpu/total_ms", "number?"),
    ("/stops/per_cpu/median_ms", "number?"),
    ("/stops/per_cpu/max_ms", "number?"),
    ("/stops/coverage_ratio", "number?"),
    ("/requests/count", "count"),
    ("/requests/stopped_count", "count?"),
    ("/requests/p50_ms", "number"),
    ("/requests/p99_ms", "number"),
    ("/requests/p99_without_own_stops_ms", "number?"),
    ("/requests/p99_without_limit_ms", "number?"),
    ("/requests/slowest", "list"),
    ("/requests/slowest/0/latency_ms", "number"),
    ("/requests/slowest/0/stops_met", "count?"),
    ("/requests/slowest/0/stages", "object?"),
    ("/harm/stopped_requests", "count?"),
    ("/harm/added_ms", "number?"),
    ("/harm/lost_ms_per_minute", "number?"),
    ("/harm/serves_requests", "bool?"),
    ("/findings", "list"),
    ("/findings/0/check", "text"),
    ("/findings/0/verdict", "text"),
    ("/findings/0/message", "text"),
    ("/findings/0/evidence", "list"),
    ("/findings/0/next_step", "text?"),
    ("/losses", "list"),
    ("/losses/0/field", "text"),
    ("/losses/0/reason", "text"),
    ("/losses/0/hint", "text?"),
    ("/effective/limit_cores", "number"),
    ("/effective/by", "text"),
    ("/precision", "object"),
];

#[test]
fn explain_has_every_field_of_version_1_with_its_type() {
    let document = full();
    let mut wrong = Vec::new();
    for (pointer, kind) in FIELDS {
        match document.pointer(pointer) {
            None => wrong.push(format!("{pointer} is missing")),
            Some(value) if !is(value, kind) => {
                wrong.push(format!("{pointer} is {value}, not {kind}"));
            }
            Some(_) => {}
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}\n{document:#}");
    assert_eq!(document["schema"], "unthrottle.explain/v1");
}

#[test]
fn words_are_those_of_the_contract() {
    let document = full();
    let one_of = |pointer: &str, words: &[&str]| {
        let word = document.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        assert!(words.contains(&word), "{pointer} is `{word}`");
    };
    one_of("/verdict", &["throttled"]);
    one_of("/target/hierarchy", &["v2"]);
    one_of("/stops/method", &["counters"]);
    one_of("/effective/by", &["quota"]);
    for limit in document["limits"].as_array().expect("limits") {
        assert!(["quota", "cpuset"].iter().any(|kind| limit["kind"] == *kind), "{limit:#}");
    }
    let verdicts = ["accepted", "rejected", "not_enough_data"];
    for finding in document["findings"].as_array().expect("findings") {
        assert!(verdicts.iter().any(|word| finding["verdict"] == *word), "{finding:#}");
    }
    let precisions = ["exact", "bounded", "estimated"];
    for (pointer, word) in document["precision"].as_object().expect("precision") {
        assert!(precisions.iter().any(|known| word == known), "{pointer}: {word}");
        assert!(document.pointer(pointer).is_some(), "{pointer} points at nothing");
    }
}

#[test]
fn levels_go_from_the_root_to_the_target_and_the_cpuset_comes_last() {
    let document = full();
    let limits = document["limits"].as_array().expect("limits");
    let rows: Vec<String> = limits
        .iter()
        .map(|row| format!("{} {}", row["kind"].as_str().unwrap_or(""), row["cgroup"]))
        .collect();
    assert_eq!(
        rows,
        [
            r#"quota "/""#,
            r#"quota "/system.slice""#,
            r#"quota "/system.slice/web.service""#,
            r#"cpuset "/system.slice/web.service""#,
        ]
    );
    assert_eq!(document["target"]["cgroup"], limits[2]["cgroup"]);
    assert_eq!(limits[2]["binding"], true);
    assert_eq!(limits[3]["binding"], false, "a cpuset never stops anyone");
}

#[test]
fn times_are_rfc_3339_in_utc_and_agree_with_the_length() {
    let document = full();
    let at = |field: &str| -> jiff::Timestamp {
        let text = document["window"][field].as_str().expect("text");
        assert!(text.ends_with('Z') && text.len() == "2026-01-01T00:00:00.000Z".len(), "{text}");
        text.parse().expect("RFC 3339")
    };
    let span = at("end").duration_since(at("start")).as_secs_f64();
    let seconds = document["window"]["seconds"].as_f64().expect("a number");
    assert!((span - seconds).abs() < 0.01, "{span} {seconds}");
    assert!(seconds >= 0.3, "{seconds}");
    let now = jiff::Timestamp::now();
    assert!(now.duration_since(at("end")).as_secs() < 120);
}

/// nr_throttled never poses as stops.
#[test]
fn counters_alone_tell_no_single_stops() {
    let stops = &full()["stops"];
    for field in ["count", "median_ms", "p99_ms", "max_ms", "some_ms", "full_ms"] {
        assert!(stops[field].is_null(), "{field} is {}", stops[field]);
    }
    assert_eq!(stops["per_cpu"]["total_ms"], 150.0);
}

/// Every number says its unit in its name, or is a count.
#[test]
fn every_number_has_its_unit_in_its_name() {
    fn look(value: &Value, key: &str, wrong: &mut Vec<String>) {
        const COUNTS: [&str; 12] = [
            "count",
            "hz",
            "cpus_online",
            "nr_periods",
            "nr_throttled",
            "nr_bursts",
            "threads",
            "local_port",
            "stopped_requests",
            "cpus_allowed",
            "weight",
            "processes",
        ];
        const UNITS: [&str; 9] = [
            "_ms",
            "_us",
            "_s",
            "seconds",
            "_cores",
            "_ratio",
            "_count",
            "_per_minute",
            "_at_most",
        ];
        match value {
            Value::Object(map) => map.iter().for_each(|(key, value)| look(value, key, wrong)),
            Value::Array(list) => list.iter().for_each(|value| look(value, key, wrong)),
            Value::Number(_) => {
                let known = COUNTS.contains(&key) || UNITS.iter().any(|unit| key.ends_with(unit));
                wrong.extend((!known).then(|| key.to_owned()));
            }
            _ => {}
        }
    }
    let mut wrong = Vec::new();
    look(&full(), "", &mut wrong);
    assert!(wrong.is_empty(), "{wrong:?}");
}

//! Parsers take any text: saved trees and odd mounts are input.

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, proptest};
use proptest::string::string_regex;
use proptest::test_runner::RngSeed;
use unthrottle_model::rows::{Counters, Hierarchy};
use unthrottle_source::cgroup::parse;
use unthrottle_source::classify::classify;
use unthrottle_source::target::TargetSpec;
use unthrottle_source::{host, mounts, process};

/// Text made of what such files are made of, so that more than the first check is passed.
fn like(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    let word = proptest::sample::select(words);
    vec(proptest::prop_oneof![word.prop_map(str::to_owned), "\\PC{0,4}", numbers()], 0..40)
        .prop_map(|parts| parts.concat())
}

fn numbers() -> impl Strategy<Value = String> {
    proptest::prop_oneof![
        any::<i64>().prop_map(|n| n.to_string()),
        any::<u64>().prop_map(|n| n.to_string()),
        string_regex("[0-9]{1,30}").expect("a pattern"),
    ]
}

/// The same cases in every run.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 512,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn mount_tables(text in like(&[" ", "\n", " - ", "cgroup", "cgroup2", "rw,cpu", "/", "\\040", "\\", "7"])) {
        for mount in mounts::parse(&text) {
            prop_assert!(!mount.root.contains('\n'));
        }
    }

    #[test]
    fn a_mount_line_is_read_whatever_optional_fields_it_has(
        optional in vec("[a-z_]{1,9}:[0-9]{1,4}", 0..4),
        name in "[a-z]{1,8}( [a-z]{1,8})?",
    ) {
        let optional: String = optional.iter().map(|field| format!(" {field}")).collect();
        let escaped = name.replace(' ', "\\040");
        let line = format!("33 24 0:25 / /{escaped} rw{optional} - cgroup x rw,cpu\n");
        let found = mounts::parse(&line);
        prop_assert_eq!(found.len(), 1);
        prop_assert_eq!(found[0].point.to_string_lossy(), format!("/{name}"));
    }

    #[test]
    fn memberships(text in like(&[":", "\n", "0::/", "1:cpu,cpuacct:/", "name=systemd", ",", " (deleted)"])) {
        for membership in process::parse(&text) {
            prop_assert!(membership.path.starts_with('/'));
        }
    }

    #[test]
    fn a_membership_keeps_its_path(path in "/[a-z: .()]{0,20}[a-z]", id in 0..99_u8) {
        let lines = process::parse(&format!("{id}:cpuacct,cpu:{path}\n"));
        prop_assert_eq!(process::path_for(&lines, Hierarchy::V1Cpu, "cpu"), Some(path.as_str()));
        prop_assert_eq!(process::path_for(&lines, Hierarchy::V2, "cpu"), None);
    }

    #[test]
    fn counters(text in like(&[" ", "\n", "nr_periods ", "throttled_usec ", "throttled_time ", "usage_usec ", "burst_usec "])) {
        for hierarchy in [Hierarchy::V1Cpu, Hierarchy::V2] {
            let mut counters = Counters::default();
            parse::cpu_stat(&text, hierarchy, &mut counters);
        }
        let _ = parse::throttled_local_ns(&text);
    }

    #[test]
    fn counters_are_read_in_any_order(
        values in vec(0..i64::from(i32::MAX), 4),
        order in proptest::sample::subsequence(vec![0_usize, 1, 2, 3], 4).prop_shuffle(),
    ) {
        let keys = ["nr_periods", "nr_throttled", "throttled_usec", "usage_usec"];
        let text: String =
            order.iter().map(|at| format!("{} {}\nnew.key 5\n", keys[*at], values[*at])).collect();
        let mut counters = Counters::default();
        parse::cpu_stat(&text, Hierarchy::V2, &mut counters);
        prop_assert_eq!(counters.nr_periods, Some(values[0]));
        prop_assert_eq!(counters.nr_throttled, Some(values[1]));
        prop_assert_eq!(counters.throttled_ns, Some(values[2] * 1_000));
        prop_assert_eq!(counters.usage_ns, Some(values[3] * 1_000));
    }

    #[test]
    fn limits_are_above_zero_or_none(text in like(&[" ", "\n", "max", "100000", "-1", "0"]), burst in any::<u64>()) {
        let v1 = text.split_once(' ').and_then(|(quota, period)| parse::cfs_limit(quota, period, burst));
        for limit in [parse::cpu_max(&text, burst), v1].into_iter().flatten() {
            if let Some(cores) = limit.cores() {
                prop_assert!(cores > 0.0 && cores.is_finite(), "{} cores", cores);
            }
        }
    }

    #[test]
    fn both_versions_agree_on_a_limit(quota_us in 1_000..10_000_000_u64, period_us in 1_000..1_000_000_u64) {
        let v2 = parse::cpu_max(&format!("{quota_us} {period_us}\n"), 7);
        let v1 = parse::cfs_limit(&format!("{quota_us}\n"), &format!("{period_us}\n"), 7);
        prop_assert_eq!(v1, v2);
        prop_assert_eq!(v2.and_then(|limit| limit.cores()), Some(quota_us as f64 / period_us as f64));
    }

    #[test]
    fn pressure(text in like(&["some ", "full ", "total=", "avg10=0.00 ", "\n"])) {
        let _ = parse::pressure_ns(&text);
    }

    #[test]
    fn process_ids(text in like(&["\n", "0", "42", " "])) {
        prop_assert!(!parse::pids(&text).contains(&0));
    }

    #[test]
    fn kernel_releases(text in "\\PC{0,20}") {
        let _ = host::version_of(&text);
    }

    #[test]
    fn paths_are_classified(path in like(&["/", "docker", "-", ".scope", ".slice", "kubepods", "user@", "\\x2d", "pod", "4f2a91c07d3b"])) {
        prop_assert!(!classify(&path).name.is_empty() || path.is_empty());
    }

    #[test]
    fn targets(text in like(&[":", "pid", "cgroup", "docker", "unit", "self", "/", "4f2a"])) {
        let _ = text.parse::<TargetSpec>();
    }
}

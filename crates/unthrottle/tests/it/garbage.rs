//! Files of a machine that make no sense, read in two turns: no panic, no nonsense in the answer.

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, proptest};
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use textwrap::core::display_width;
use unthrottle::report::{contract, json, text};
use unthrottle::{analysis, session};
use unthrottle_model::Recording;
use unthrottle_source::watch::{Watch, WatchOptions};
use unthrottle_source::{Root, Stop};
use unthrottle_testkit::FakeTree;

/// Every file that a watch reads.
const FILES: [&str; 14] = [
    "sys/fs/cgroup/a/b/cpu.stat",
    "sys/fs/cgroup/a/cpu.stat",
    "sys/fs/cgroup/a/b/cpu.max",
    "sys/fs/cgroup/a/cpu.max",
    "sys/fs/cgroup/a/b/cpu.max.burst",
    "sys/fs/cgroup/a/b/cpu.stat.local",
    "sys/fs/cgroup/a/b/cpu.pressure",
    "sys/fs/cgroup/a/b/cpuset.cpus.effective",
    "sys/fs/cgroup/a/b/cgroup.procs",
    "proc/7/task/7/schedstat",
    "proc/stat",
    "proc/pressure/cpu",
    "sys/devices/system/cpu/online",
    "proc/sys/kernel/sched_cfs_bandwidth_slice_us",
];

fn garbage() -> impl Strategy<Value = String> {
    let words = select(vec![
        "nr_periods ",
        "nr_throttled ",
        "throttled_usec ",
        "usage_usec ",
        "burst_usec ",
        "nr_bursts ",
        "max ",
        "some total=",
        "full total=",
        "cpu  ",
        "0-",
        ",",
        "7\n",
        "\n",
        " ",
        "-1",
        "0",
        "100000",
        "\0",
        "\u{1b}[31m",
        "9223372036854775807",
        "-9223372036854775808",
        "18446744073709551615",
        "99999999999999999999",
        "2147483647",
        "-2147483648",
        "1e9",
        "NaN",
    ]);
    let part = proptest::prop_oneof![
        6 => words.prop_map(str::to_owned),
        1 => any::<i64>().prop_map(|number| format!("{number} ")),
        1 => "\\PC{0,3}",
    ];
    vec(part, 0..14).prop_map(|parts| parts.concat())
}

/// Some of the files, each with its new text.
fn changes() -> impl Strategy<Value = Vec<(usize, String)>> {
    vec((0..FILES.len(), garbage()), 0..8)
}

fn apply(tree: &FakeTree, changes: &[(usize, String)]) {
    for (file, text) in changes {
        tree.file(FILES[*file], text);
    }
}

fn watch(tree: &FakeTree, between: &[(usize, String)]) -> Recording {
    let (fs, target) = session::find(&Root::at(tree.root()), "cgroup:/a/b").expect("found");
    let options = WatchOptions { for_ns: 3_600_000_000_000, interval_ns: 3_600_000_000_000 };
    let (meta, watch) = Watch::start(&fs, &target, &options, &Stop::default()).expect("a watch");
    apply(tree, between);
    watch.ender().request();
    let mut recording = Recording::new(meta);
    while let Some(batch) = watch.next_batch() {
        recording.push(batch);
    }
    recording
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 150,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_content_of_any_file_gives_a_document_and_a_text(before in changes(), between in changes()) {
        let tree = FakeTree::v2();
        tree.group("/a", |group| group.quota(100_000, 100_000));
        tree.group("/a/b", |group| group.quota(50_000, 100_000).procs(&[7]));
        tree.process_in(7, "/a/b", "app");
        apply(&tree, &before);
        let recording = watch(&tree, &between);
        let document = contract::explain(&analysis::explain(&recording));
        prop_assert!(json(&document).is_ok());
        let shown = text::explain(&document);
        for line in shown.lines() {
            prop_assert!(display_width(line) <= 100, "{}", line);
            prop_assert!(!line.chars().any(char::is_control), "{:?}", line);
        }
        prop_assert!(document.effective.limit_cores > 0.0 && document.effective.limit_cores.is_finite());
        prop_assert_eq!(document.limits.iter().filter(|row| row.quota_us == Some(0)).count(), 0);
    }
}

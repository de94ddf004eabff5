//! Recordings that nobody would believe.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{BoxedStrategy, Just, ProptestConfig, Strategy, any, prop_oneof};
use proptest::sample::select;
use proptest::test_runner::RngSeed;
use unthrottle_analysis::model::capabilities::{Capabilities, MountFact};
use unthrottle_analysis::model::limit::{CpuLimit, Quota};
use unthrottle_analysis::model::recording::{HostFacts, Meta, Recording, TargetFacts};
use unthrottle_analysis::model::requests::{Outcome, RequestRow};
use unthrottle_analysis::model::rows::{
    Batch, ClockRow, Counters, CpusetRow, EventKind, EventRow, GroupRow, Hierarchy, HostRow,
    LimitRow, LimitState, NoLimit, SampleRow, ThreadsRow, UsageSource,
};

/// The same cases in every run.
pub fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 400,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A name of a directory as an attacker would choose it.
pub fn name() -> BoxedStrategy<String> {
    let parts = select(vec![
        "\u{1b}[31m",
        "\u{1b}]0;title\u{7}",
        "\n",
        "\r",
        "\t",
        "\u{202e}",
        "\u{2066}",
        "\u{200f}",
        "\u{61c}",
        "\u{2028}",
        "\u{200b}",
        "\u{feff}",
        "\u{9b}31m",
        "\u{7f}",
        "名前",
        "🚀",
        "e\u{301}",
        "app",
        ".slice",
        "a b",
        "{}",
        "`",
        "docker",
        "0123456789abcdef",
    ]);
    prop_oneof![
        4 => vec(parts, 1..12).prop_map(|parts| parts.concat()),
        1 => "[a-z]{1,300}",
        1 => "\\PC{1,60}",
    ]
    .boxed()
}

fn count() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => 0..1_000_000_i64,
        2 => 0..4_000_000_000_000_000_i64,
        1 => any::<i64>(),
        1 => select(vec![i64::MIN, i64::MAX, -1]),
    ]
}

fn counters() -> impl Strategy<Value = Counters> {
    vec(option::weighted(0.9, count()), 9).prop_map(|of| Counters {
        nr_periods: of[0],
        nr_throttled: of[1],
        throttled_ns: of[2],
        throttled_local_ns: of[3],
        nr_bursts: of[4],
        burst_ns: of[5],
        usage_ns: of[6],
        psi_some_ns: of[7],
        psi_full_ns: of[8],
    })
}

/// Limits as parsers give them: never of nothing, but otherwise of any size.
fn limit() -> impl Strategy<Value = LimitState> {
    let size = || prop_oneof![3 => 1_000..1_000_000_u64, 1 => 1..u64::MAX];
    let quota = (size(), size(), size()).prop_map(|(quota_us, period_us, burst_us)| {
        LimitState::Limit(CpuLimit::Quota(Quota { quota_us, period_us, burst_us }))
    });
    let none = [NoLimit::Root, NoLimit::ControllerOff, NoLimit::NoBandwidth, NoLimit::Unreadable];
    prop_oneof![
        4 => quota,
        1 => Just(LimitState::Limit(CpuLimit::Unlimited)),
        1 => select(none.to_vec()).prop_map(LimitState::None),
    ]
}

/// Times of a second apart, with some jitter.
fn times(count: usize) -> impl Strategy<Value = Vec<i64>> {
    vec(0..900_000_000_i64, count).prop_map(|jitter| {
        let at = |(index, late): (usize, i64)| index as i64 * 1_000_000_000 + late;
        jitter.into_iter().enumerate().map(at).collect()
    })
}

fn samples(levels: u32) -> impl Strategy<Value = Vec<SampleRow>> {
    (0..5_usize).prop_flat_map(move |readings| {
        let cells = readings * levels as usize;
        (times(readings), vec(counters(), cells)).prop_map(move |(times, cells)| {
            let row = |(index, counters): (usize, Counters)| SampleRow {
                time_ns: times[index / levels as usize],
                group: index as u32 % levels,
                counters,
            };
            cells.into_iter().enumerate().map(row).collect()
        })
    })
}

fn requests() -> impl Strategy<Value = Vec<RequestRow>> {
    let time = || {
        prop_oneof![
            6 => (0..4_000_000_000_i64).prop_map(Some),
            1 => any::<i64>().prop_map(Some),
            1 => Just(None),
        ]
    };
    let row = (0..5_000_000_000_i64, time(), time(), time(), any::<u16>(), 0..7_usize).prop_map(
        |(intended_ns, sent_ns, first_byte_ns, done_ns, port, outcome)| RequestRow {
            intended_ns,
            sent_ns,
            first_byte_ns,
            done_ns,
            local_port: Some(port),
            status: Some(port),
            outcome: Outcome::ALL[outcome].0,
        },
    );
    vec(row, 0..30)
}

fn host_rows() -> impl Strategy<Value = Vec<HostRow>> {
    (times(3), vec((count(), count(), count(), option::of(count())), 0..3)).prop_map(
        |(times, rows)| {
            let row = |(index, (busy_ns, steal_ns, total_ns, psi_some_ns)): (usize, _)| HostRow {
                time_ns: times[index],
                busy_ns,
                steal_ns,
                total_ns,
                psi_some_ns,
                own_ns: index as i64 * 1_000,
            };
            rows.into_iter().enumerate().map(row).collect()
        },
    )
}

/// Threads are added up by the reader, so they only rise.
fn threads() -> impl Strategy<Value = Vec<ThreadsRow>> {
    (times(4), vec((0..9_000_000_000_i64, 0..9_000_000_000_i64, 0..9_u32, 0..3_u32), 0..4))
        .prop_map(|(times, rows)| {
            let (mut on_cpu_ns, mut run_delay_ns) = (0, 0);
            let row = |(index, (ran, waited, readable, unread)): (usize, (i64, i64, u32, u32))| {
                on_cpu_ns += ran;
                run_delay_ns += waited;
                let threads = readable + unread;
                ThreadsRow {
                    time_ns: times[index],
                    processes: threads,
                    threads,
                    on_cpu_ns,
                    run_delay_ns,
                    unread,
                }
            };
            rows.into_iter().enumerate().map(row).collect()
        })
}

fn target() -> impl Strategy<Value = (TargetFacts, Vec<GroupRow>)> {
    let runtime = select(vec![None, Some("docker"), Some("systemd-service"), Some("kubernetes")]);
    (vec(name(), 0..5), name(), runtime, any::<bool>(), any::<bool>(), 0..4_usize).prop_map(
        |(names, called, runtime, v1, levels_hidden, usage)| {
            let hierarchy = if v1 { Hierarchy::V1Cpu } else { Hierarchy::V2 };
            let usage_source = [
                UsageSource::CpuStat,
                UsageSource::Cpuacct,
                UsageSource::Threads,
                UsageSource::None,
            ][usage];
            let mut path = String::new();
            let mut groups = vec![("/".to_owned(), 0)];
            for (depth, name) in (1..).zip(&names) {
                path = format!("{path}/{name}");
                groups.push((path.clone(), depth));
            }
            let groups: Vec<GroupRow> = groups
                .into_iter()
                .map(|(path, depth)| GroupRow {
                    group: depth,
                    hierarchy,
                    inode: u64::from(depth) + 1,
                    path,
                    depth,
                    usage_source,
                    weight: Some(100),
                })
                .collect();
            let facts = TargetFacts {
                asked: format!("cgroup:{path}"),
                name: called,
                runtime: runtime.map(str::to_owned),
                hierarchy,
                path: if path.is_empty() { "/".to_owned() } else { path },
                group: groups.len() as u32 - 1,
                mount_root: "/".to_owned(),
                levels_hidden,
            };
            (facts, groups)
        },
    )
}

fn host() -> impl Strategy<Value = HostFacts> {
    (name(), option::of(0..5_000_u32), 1..9_000_u32, option::of(any::<u64>()), 3..7_u32).prop_map(
        |(kernel, hz, cpus_online, slice_us, major)| HostFacts {
            kernel,
            kernel_version: Some((major, 18)),
            hz,
            cpus_online,
            slice_us,
            sched_ext: None,
            cpus_allowed: Some(cpus_online),
            schedstats: None,
        },
    )
}

/// A recording of any target, with any rows.
pub fn recording() -> impl Strategy<Value = Recording> {
    (host(), target()).prop_flat_map(|(host, (target, groups))| {
        let levels = groups.len() as u32;
        let limits = vec((0..4_000_000_000_i64, 0..levels, limit()), 0..8);
        let cpuset = option::of((name(), 1..4_000_u32));
        let events = vec((0..levels, any::<bool>()), 0..3);
        (samples(levels), limits, cpuset, events, threads(), host_rows(), requests(), count())
            .prop_map(
                move |(samples, mut limits, cpuset, events, threads, rows, requests, wall)| {
                    limits.sort_by_key(|(time_ns, ..)| *time_ns);
                    let limits = limits.into_iter();
                    let kind = |gone| {
                        if gone { EventKind::Vanished } else { EventKind::Restarted { inode: 9 } }
                    };
                    Recording {
                        meta: Meta { host: host.clone(), target: target.clone() },
                        rows: Batch {
                            groups: groups.clone(),
                            samples,
                            limits: limits
                                .map(|(time_ns, group, limit)| LimitRow { time_ns, group, limit })
                                .collect(),
                            cpusets: cpuset
                                .map(|(path, cpus)| CpusetRow {
                                    time_ns: 0,
                                    path,
                                    list: "0".into(),
                                    cpus,
                                })
                                .into_iter()
                                .collect(),
                            threads,
                            host: rows,
                            events: events
                                .into_iter()
                                .map(|(group, gone)| EventRow {
                                    time_ns: 5,
                                    group,
                                    kind: kind(gone),
                                })
                                .collect(),
                            losses: Vec::new(),
                            clock: vec![ClockRow { monotonic_ns: 0, realtime_ns: wall / 4 }],
                            requests,
                        },
                    }
                },
            )
    })
}

/// A machine with odd mounts and names.
pub fn capabilities() -> impl Strategy<Value = Capabilities> {
    let mount =
        (name(), name(), option::of(vec(name(), 0..4))).prop_map(|(point, root, controllers)| {
            MountFact { point: format!("/{point}"), root, controllers }
        });
    let names = (vec(mount, 0..4), option::of(name()), vec((name(), name()), 0..3), name());
    (host(), names, any::<[bool; 5]>(), option::of(any::<u64>())).prop_map(
        |(host, (mounts, own_group, runtimes, lockdown), known, cap_eff)| Capabilities {
            host,
            mounts,
            hierarchy: known[0].then_some(Hierarchy::V1Cpu),
            own_group,
            own_group_writable: known[1],
            groups: known[2].then_some((usize::MAX, 3)),
            euid: 0,
            cap_eff,
            all_levels: known[3].then_some(known[4]),
            stat_local: known[3],
            psi: known[4],
            schedstat: known[2],
            btf: known[1],
            lockdown: known[0].then_some(lockdown),
            kprobes: known[1].then_some(known[2]),
            runtimes,
        },
    )
}

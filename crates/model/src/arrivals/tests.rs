//! Schedules: sorted, seeded, at the asked rate.

use proptest::prelude::*;

use super::*;

fn read(text: &str) -> Arrivals {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn offsets(text: &str) -> Vec<i64> {
    parse_replay(text).unwrap_or_else(|error| panic!("{text}: {error}")).offsets_ns
}

#[test]
fn the_grammar_and_back() {
    for (text, arrivals) in [
        ("poisson:10/s", Arrivals::Poisson { per_s: 10.0 }),
        ("uniform:0.5/s", Arrivals::Uniform { per_s: 0.5 }),
        ("batch:8@400ms", Arrivals::Batch { size: 8, every_ns: 400 * MS }),
        ("batch:1@1500us", Arrivals::Batch { size: 1, every_ns: 1500 * US }),
        ("replay:access.log", Arrivals::Replay { file: "access.log".to_owned(), speed: 1.0 }),
        ("replay:a@b.log", Arrivals::Replay { file: "a@b.log".to_owned(), speed: 1.0 }),
        ("replay:a:b@2x", Arrivals::Replay { file: "a:b".to_owned(), speed: 2.0 }),
        ("replay:log@3@1x", Arrivals::Replay { file: "log@3".to_owned(), speed: 1.0 }),
        ("replay:log@0.5x", Arrivals::Replay { file: "log".to_owned(), speed: 0.5 }),
    ] {
        assert_eq!(read(text), arrivals, "{text}");
        assert_eq!(arrivals.to_string(), text);
    }
    assert_eq!(read("poisson:600/m"), Arrivals::Poisson { per_s: 10.0 });
}

#[test]
fn what_is_wrong_is_named() {
    for (text, part) in [
        ("", "begin with"),
        ("poisson", "begin with"),
        ("constant:10/s", "begin with"),
        ("poisson:10", "such as `10/s`"),
        ("uniform:-1/s", "such as `10/s`"),
        ("batch:8", "SIZE@EVERY"),
        ("batch:0@1s", "`0` is not a number of arrivals"),
        ("batch:x@1s", "`x` is not a number of arrivals"),
        ("batch:8@400", "with its unit"),
        ("replay:", "no file"),
        ("replay:@2x", "no file"),
        ("replay:log@2", "write `@2x`"),
        ("replay:log@0x", "not a speed above"),
        ("replay:log@..x", "not a speed above"),
    ] {
        let error = text.parse::<Arrivals>().expect_err(text);
        assert!(error.to_string().contains(part), "{text}: {error}");
        assert!(error.hint().is_some_and(|hint| hint.contains("`batch:8@400ms`")), "{text}");
    }
}

/// These values are part of what users rely on: a seed in a report must give that run again. If an
/// upgrade of a library changes them, the library must be held back or its algorithm kept here.
#[test]
fn a_seed_means_the_same_schedule_forever() {
    let schedule = read("poisson:10/s").schedule(1, 60 * SEC, None).expect("schedule");
    assert_eq!(schedule[..4], [44_690_322, 60_360_424, 181_840_246, 239_883_837]);
    assert_eq!((schedule.len(), schedule.last()), (582, Some(&59_765_883_262)));
    let other = read("poisson:1000/s").schedule(u64::MAX, SEC, None).expect("schedule");
    assert_eq!((&other[..3], other.len()), (&[781_670, 1_076_322, 1_320_886][..], 1044));
}

#[test]
fn regular_schedules() {
    let schedule = |text, duration| read(text).schedule(7, duration, None).expect("schedule");
    assert_eq!(schedule("uniform:4/s", SEC), [0, 250 * MS, 500 * MS, 750 * MS]);
    assert_eq!(schedule("uniform:3/s", SEC + 1), [0, 333_333_333, 666_666_666, SEC]);
    assert_eq!(schedule("uniform:0.001/s", SEC), [0]);
    assert_eq!(schedule("batch:2@400ms", SEC), [0, 0, 400 * MS, 400 * MS, 800 * MS, 800 * MS]);
    assert_eq!(schedule("batch:2@1s", SEC), [0, 0]);
}

#[test]
fn replays_are_sped_up_and_cut() {
    let times = [0, 10, 10, 25, 40];
    let schedule = |text: &str, duration| read(text).schedule(0, duration, Some(&times));
    assert_eq!(schedule("replay:f", 40), Ok(vec![0, 10, 10, 25]));
    assert_eq!(schedule("replay:f@2x", 40), Ok(vec![0, 5, 5, 12, 20]));
    assert_eq!(schedule("replay:f@0.5x", 40), Ok(vec![0, 20, 20]));
    let long = [0, (1 << 60) + 1];
    assert_eq!(read("replay:f").schedule(0, i64::MAX, Some(&long)), Ok(long.to_vec()));
    assert!(matches!(read("replay:f").schedule(0, 40, None), Err(ArrivalsError::NoReplay { .. })));
}

#[test]
fn too_many_and_unusable_are_errors() {
    for text in ["poisson:10000000/s", "uniform:10000000/s", "batch:4000000000@1ms"] {
        let error = read(text).schedule(1, 3600 * SEC, None).expect_err(text);
        assert!(matches!(error, ArrivalsError::TooMany { .. }), "{error}");
    }
    for arrivals in [
        Arrivals::Poisson { per_s: 0.0 },
        Arrivals::Poisson { per_s: f64::NAN },
        Arrivals::Uniform { per_s: f64::INFINITY },
        Arrivals::Batch { size: 0, every_ns: 1 },
        Arrivals::Batch { size: 1, every_ns: 0 },
        Arrivals::Replay { file: "f".to_owned(), speed: -1.0 },
    ] {
        let result = arrivals.schedule(1, SEC, Some(&[0]));
        assert!(matches!(result, Err(ArrivalsError::Unusable { .. })), "{arrivals:?}: {result:?}");
    }
    let error = read("uniform:1/s").schedule(1, 0, None).expect_err("no time");
    assert!(matches!(error, ArrivalsError::Duration { .. }));
}

#[test]
fn replay_of_seconds() {
    assert_eq!(
        offsets("1.5\n\n# late\n1\r\n  2.000000001 \n.25"),
        [0, 750 * MS, 1_250 * MS, 1_750_000_001]
    );
    assert_eq!(offsets("1700000000.123456789\n1700000000.123456790\n"), [0, 1]);
    assert_eq!(offsets("1.700000000000000000e+09\n1.700000001e9"), [0, SEC]);
    assert_eq!(offsets("5\n5\n5"), [0, 0, 0]);
}

#[test]
fn replay_of_rfc3339_lines() {
    assert_eq!(
        offsets("2026-01-31T12:00:00.5Z GET /\n2026-01-31T13:00:01+01:00,x\n2026-01-31 12:00:02Z"),
        [0, 500 * MS, 1_500 * MS]
    );
    let whole = "2026-01-31T12:00:00Z a\n2026-01-31T12:00:00Z b\n2026-01-31T12:00:01Z c\n";
    let replay = parse_replay(whole).expect("replay");
    assert_eq!(replay.offsets_ns, [0, 500 * MS, SEC]);
    assert!(replay.spread_within_seconds);
}

#[test]
fn replay_of_an_access_log() {
    let line = |time: &str| {
        format!("::1 - a[b] [{time}] \"GET / HTTP/1.1\" 200 5 \"-\" \"Mozilla/5.0 [en]\"\n")
    };
    let log = [
        line("10/Oct/2000:13:55:37 -0700"),
        line("10/Oct/2000:13:55:36 -0700"),
        line("10/Oct/2000:20:55:37 +0000"),
    ]
    .concat();
    let replay = parse_replay(&log).expect("replay");
    assert_eq!(replay.offsets_ns, [0, SEC, 1_500 * MS]);
    assert!(replay.spread_within_seconds);
    let single = parse_replay(&line("10/Oct/2000:13:55:37 -0700")).expect("replay");
    assert_eq!(single, Replay { offsets_ns: vec![0], spread_within_seconds: false });
}

#[test]
fn replay_of_a_requests_file() {
    let text = format!(
        "{CSV}\n1000,,,,,,skipped\n900,901,902,903,4000,200,ok\n12",
        CSV = crate::requests::CSV_HEADER
    );
    assert_eq!(offsets(&text), [0, 100]);
}

#[test]
fn bad_replay_files() {
    let fails = |text: &str| parse_replay(text).expect_err(text);
    assert_eq!(fails(""), ReplayError::Empty);
    assert_eq!(fails("# nothing\n\n"), ReplayError::Empty);
    assert!(matches!(fails("\nhello\n"), ReplayError::Unknown { line: 2, .. }));
    assert!(matches!(fails("-1\n"), ReplayError::Unknown { line: 1, .. }));
    assert!(matches!(fails("nan\n"), ReplayError::Unknown { .. }));
    assert!(matches!(fails("1e300\n"), ReplayError::Unknown { .. }));
    assert!(matches!(fails("1\n2\nx\n"), ReplayError::Line { line: 3, .. }));
    assert!(matches!(fails("1\n1700000000000\n"), ReplayError::Line { line: 2, .. }));
    assert!(matches!(fails("2026-01-31T12:00:00 no offset"), ReplayError::Unknown { .. }));
    assert!(matches!(fails("2026-13-31T12:00:00Z"), ReplayError::Unknown { .. }));
    assert!(matches!(
        fails("a [10/Oct/2000:13:55:36 -0700]\na [10/Foo/2000:13:55:36 -0700]"),
        ReplayError::Line { line: 2, .. }
    ));
    let header = crate::requests::CSV_HEADER;
    assert!(matches!(fails(&format!("{header}\nx,,,,,,ok\n")), ReplayError::Requests(_)));
    let apart = format!("{header}\n{},,,,,,ok\n{},,,,,,ok\n", i64::MIN, i64::MAX);
    assert_eq!(fails(&apart), ReplayError::Span);
    assert!(fails("x").hint().is_some());
}

#[test]
fn poisson_has_the_rate_and_spread_of_poisson() {
    for seed in 0..20 {
        let (rate, seconds) = (200.0, 100);
        let times = read("poisson:200/s").schedule(seed, seconds * SEC, None).expect("schedule");
        let mean = rate * seconds as f64;
        // Five standard deviations: the seeds are fixed, so this passes or fails for good.
        assert!((times.len() as f64 - mean).abs() < 5.0 * mean.sqrt(), "{seed}: {}", times.len());
        let gaps: Vec<f64> = std::iter::once(times[0])
            .chain(times.windows(2).map(|pair| pair[1] - pair[0]))
            .map(|gap| gap as f64 / SEC as f64 * rate)
            .collect();
        let average = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance =
            gaps.iter().map(|gap| (gap - average).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((variance - 1.0).abs() < 0.1, "{seed}: variance of gaps {variance}");
        let short = gaps.iter().filter(|gap| **gap < 0.1).count() as f64 / gaps.len() as f64;
        assert!((short - 0.0952).abs() < 0.02, "{seed}: {short} of gaps below a tenth");
    }
}

fn any_arrivals() -> impl Strategy<Value = Arrivals> {
    prop_oneof![
        (0.001..5e4_f64).prop_map(|per_s| Arrivals::Poisson { per_s }),
        (0.001..5e4_f64).prop_map(|per_s| Arrivals::Uniform { per_s }),
        (1..200_u32, MS..10 * SEC).prop_map(|(size, every_ns)| Arrivals::Batch { size, every_ns }),
        ("[a-z0-9@:./x]{1,12}", 0.01..100.0_f64)
            .prop_map(|(file, speed)| Arrivals::Replay { file, speed }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sorted_and_within_the_duration(
        arrivals in any_arrivals(),
        seed: u64,
        duration in 1..2 * SEC,
        file in prop::collection::vec(0..20 * SEC, 0..50),
    ) {
        let times = arrivals.schedule(seed, duration, Some(&file)).expect("schedule");
        prop_assert!(times.is_sorted());
        prop_assert!(times.iter().all(|time| (0..duration).contains(time)));
        prop_assert_eq!(arrivals.schedule(seed, duration, Some(&file)).expect("again"), times);
    }

    #[test]
    fn written_and_read_again(arrivals in any_arrivals()) {
        prop_assert_eq!(arrivals.to_string().parse::<Arrivals>(), Ok(arrivals));
    }

    #[test]
    fn no_text_panics(text in "\\PC*", lines in "([0-9TZ:/\\[\\] .,e+-]{0,30}\n){0,5}") {
        let _ = text.parse::<Arrivals>();
        let _ = parse_replay(&text);
        let _ = parse_replay(&lines);
        let _ = parse_replay(&format!("1\n{text}"));
    }

    #[test]
    fn a_replay_starts_at_zero_and_keeps_all(times in prop::collection::vec(0..1u64 << 40, 1..50)) {
        let text: String =
            times.iter().map(|t| format!("{}.{:09}\n", t / 1_000_000_000, t % 1_000_000_000)).collect();
        let first = *times.iter().min().expect("one");
        let mut expected: Vec<i64> = times.iter().map(|t| (t - first) as i64).collect();
        expected.sort_unstable();
        prop_assert_eq!(offsets(&text), expected);
    }
}

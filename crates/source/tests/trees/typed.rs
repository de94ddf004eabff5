//! Parsers of what people type and of files they hand over: spans, cores, rates, lists, rows.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{
    ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest,
};
use proptest::test_runner::RngSeed;
use unthrottle_model::arrivals::{Arrivals, parse_replay};
use unthrottle_model::cpuset::count_cpus;
use unthrottle_model::requests::{CSV_HEADER, Outcome, RequestRow, from_csv, to_csv_line};
use unthrottle_model::units::{parse_cores, parse_rate_per_s, parse_span_ns, show_span};

/// The same cases in every run.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 512,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// What people type, nearly.
fn typed() -> impl Strategy<Value = String> {
    prop_oneof![
        "[-+0-9.eE]{0,22}(ns|us|ms|s|m|min|h|%|/s|/m|/h)?",
        "(poisson|uniform|batch|replay):[0-9.@/a-z]{0,12}",
        "\\PC{0,12}",
    ]
}

/// A row as the load generator writes it: each time after the one before.
fn row() -> impl Strategy<Value = RequestRow> {
    let step = || option::of(0..10_000_000_000_i64);
    let times = (0..i64::MAX / 4, step(), step(), step());
    (times, option::of(any::<u16>()), option::of(any::<u16>()), 0..7_usize).prop_map(
        |((intended_ns, sent, first, done), local_port, status, outcome)| {
            let mut at_ns = intended_ns;
            let mut mark = |step: Option<i64>| {
                at_ns += step.unwrap_or(0);
                step.map(|_| at_ns)
            };
            RequestRow {
                intended_ns,
                sent_ns: mark(sent),
                first_byte_ns: mark(first),
                done_ns: mark(done),
                local_port,
                status,
                outcome: Outcome::ALL[outcome].0,
            }
        },
    )
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn anything_typed_is_a_value_in_range_or_an_error_that_repeats_it(text in typed()) {
        match parse_span_ns(&text) {
            Ok(ns) => prop_assert!(ns > 0 && ns <= 100_000_000_000_000_000),
            Err(error) => prop_assert!(error.to_string().contains(&text)),
        }
        match parse_cores(&text) {
            Ok(cores) => prop_assert!(cores > 0.0 && cores.is_finite()),
            Err(error) => prop_assert!(error.to_string().contains(&text)),
        }
        match parse_rate_per_s(&text) {
            Ok(rate) => prop_assert!(rate > 0.0 && rate.is_finite()),
            Err(error) => prop_assert!(error.to_string().contains(&text)),
        }
        let _ = text.parse::<Arrivals>();
    }

    #[test]
    fn a_span_is_its_number_times_its_unit(number in 1..100_000_u32) {
        for (unit, ns) in [("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000_i64)] {
            prop_assert_eq!(parse_span_ns(&format!("{number}{unit}")), Ok(i64::from(number) * ns));
        }
        let milli = parse_cores(&format!("{number}m"));
        prop_assert_eq!(milli.ok().filter(|cores| *cores <= 65_536.0), Some(f64::from(number) * 1e-3));
    }

    #[test]
    fn any_span_can_be_shown(ns in any::<i64>()) {
        prop_assert!(show_span(ns).contains(' '));
    }

    #[test]
    fn lists_of_cpus(text in "[0-9,\\- \n]{0,24}") {
        let _ = count_cpus(&text);
    }

    #[test]
    fn a_list_of_ranges_counts_its_cpus(ranges in vec((0..500_u32, 0..40_u32), 1..8)) {
        let shown = ranges.iter().map(|(first, more)| format!("{first}-{}", first + more));
        let list = shown.collect::<Vec<_>>().join(",") + "\n";
        let count: u32 = ranges.iter().map(|(_, more)| more + 1).sum();
        prop_assert_eq!(count_cpus(&list), Some(count));
    }

    #[test]
    fn rows_survive_their_file(rows in vec(row(), 0..20)) {
        let lines: String = rows.iter().map(|row| to_csv_line(row) + "\n").collect();
        prop_assert_eq!(from_csv(&format!("{CSV_HEADER}\n{lines}")), Ok(rows));
    }

    /// However the writer is cut off, what was complete is read and nothing else.
    #[test]
    fn a_file_that_is_cut_off_gives_its_complete_rows(rows in vec(row(), 1..8), cut in any::<proptest::sample::Index>()) {
        let lines: String = rows.iter().map(|row| to_csv_line(row) + "\n").collect();
        let whole = format!("{CSV_HEADER}\n{lines}");
        let at = CSV_HEADER.len() + 1 + cut.index(lines.len() + 1);
        let complete = whole[CSV_HEADER.len() + 1..at].matches('\n').count();
        prop_assert_eq!(from_csv(&whole[..at]), Ok(rows[..complete].to_vec()));
    }

    #[test]
    fn any_file_of_rows(cells in vec("[-0-9a-z,.]{0,12}|9223372036854775807|-9223372036854775808|ok|,|\n", 0..40)) {
        if let Ok(rows) = from_csv(&format!("{CSV_HEADER}\n{}", cells.concat())) {
            for row in rows {
                prop_assert!(row.latency_intended_ns().is_none_or(|ns| ns >= 0));
                prop_assert!(row.lateness_ns().is_none_or(|ns| ns >= 0));
            }
        }
    }

    #[test]
    fn any_log_to_replay(text in "(\\PC{0,20}\n){0,6}|([0-9.:T +/\\-Z]{0,30}\n){0,8}") {
        if let Ok(replay) = parse_replay(&text) {
            prop_assert!(replay.offsets_ns.iter().all(|offset| *offset >= 0));
        }
    }
}

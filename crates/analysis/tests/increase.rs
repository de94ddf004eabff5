//! Increases of counters, whatever they are and however often they were read.

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, Strategy, any, prop_assert, prop_assert_eq, proptest};
use proptest::test_runner::RngSeed;
use unthrottle_analysis::delta::Increase;
use unthrottle_analysis::model::rows::{Counters, SampleRow};

fn sample(time_ns: i64, counters: Counters) -> SampleRow {
    SampleRow { time_ns, group: 0, counters }
}

/// Readings of counters that only rise, a second apart.
fn rising() -> impl Strategy<Value = Vec<SampleRow>> {
    vec((0..1_000_000_i64, 0..1_000_i64, 0..1_000_000_000_i64), 1..20).prop_map(|steps| {
        let mut counters = Counters {
            nr_periods: Some(0),
            nr_throttled: Some(0),
            usage_ns: Some(0),
            ..Counters::default()
        };
        let add = |into: &mut Option<i64>, step: i64| *into = into.map(|value| value + step);
        let readings = steps.into_iter().enumerate().map(|(at, (periods, throttled, usage))| {
            add(&mut counters.nr_periods, periods);
            add(&mut counters.nr_throttled, throttled);
            add(&mut counters.usage_ns, usage);
            sample(at as i64 * 1_000_000_000, counters)
        });
        readings.collect()
    })
}

/// Any counters at all, also such as no kernel writes.
fn anything() -> impl Strategy<Value = Vec<SampleRow>> {
    let extreme = proptest::prop_oneof![
        any::<i64>(),
        proptest::sample::select(vec![i64::MIN, i64::MAX, 0, -1, i64::from(i32::MAX)]),
    ];
    vec((proptest::option::of(extreme.clone()), proptest::option::of(extreme)), 0..8).prop_map(
        |all| {
            let rows = all.into_iter().enumerate().map(|(at, (narrow, wide))| {
                let counters = Counters {
                    nr_periods: narrow,
                    nr_throttled: wide,
                    throttled_ns: wide,
                    usage_ns: narrow,
                    psi_some_ns: wide,
                    ..Counters::default()
                };
                sample(at as i64, counters)
            });
            rows.collect()
        },
    )
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
    fn what_rises_is_last_minus_first(samples in rising()) {
        let increase = Increase::of(&samples);
        let (first, last) = (samples[0].counters, samples[samples.len() - 1].counters);
        let difference = |from: Option<i64>, to: Option<i64>| Some(to? - from?);
        if samples.len() > 1 {
            prop_assert_eq!(increase.counters.nr_periods, difference(first.nr_periods, last.nr_periods));
            prop_assert_eq!(increase.counters.usage_ns, difference(first.usage_ns, last.usage_ns));
            prop_assert_eq!(increase.span_ns, (samples.len() as i64 - 1) * 1_000_000_000);
        } else {
            prop_assert_eq!(increase, Increase::default());
        }
        prop_assert_eq!((increase.went_back, increase.wrapped), (0, 0));
    }

    #[test]
    fn readings_in_between_change_nothing(samples in rising(), keep in vec(any::<bool>(), 20)) {
        let last = samples.len() - 1;
        let fewer: Vec<SampleRow> = samples
            .iter()
            .enumerate()
            .filter(|(at, _)| *at == 0 || *at == last || keep[*at])
            .map(|(_, row)| *row)
            .collect();
        prop_assert_eq!(Increase::of(&samples), Increase::of(&fewer));
    }

    #[test]
    fn two_halves_add_up(samples in rising(), at in any::<proptest::sample::Index>()) {
        let at = at.index(samples.len());
        let (whole, left, right) =
            (Increase::of(&samples), Increase::of(&samples[..=at]), Increase::of(&samples[at..]));
        prop_assert_eq!(whole.span_ns, left.span_ns + right.span_ns);
        let sum = |get: fn(&Counters) -> Option<i64>| {
            get(&left.counters).unwrap_or(0) + get(&right.counters).unwrap_or(0)
        };
        prop_assert_eq!(whole.counters.nr_periods.unwrap_or(0), sum(|c| c.nr_periods));
        prop_assert_eq!(whole.counters.nr_throttled.unwrap_or(0), sum(|c| c.nr_throttled));
    }

    /// The kernel counts periods in an `int` and prints it with its sign.
    #[test]
    fn a_32_bit_counter_that_wraps_loses_nothing(
        start in any::<i32>(),
        steps in vec(0..1_000_000_000_i64, 1..12),
    ) {
        let mut count = i64::from(start);
        let mut samples = vec![count];
        for step in &steps {
            count += step;
            samples.push(i64::from(count as i32));
        }
        let samples: Vec<SampleRow> = samples
            .into_iter()
            .enumerate()
            .map(|(at, nr_periods)| {
                sample(at as i64, Counters { nr_periods: Some(nr_periods), ..Counters::default() })
            })
            .collect();
        let increase = Increase::of(&samples);
        prop_assert_eq!(increase.went_back, 0);
        prop_assert_eq!(increase.counters.nr_periods, Some(steps.iter().sum()));
    }

    #[test]
    fn a_restart_costs_only_its_own_interval(before in rising(), after in rising()) {
        let shift = before.len() as i64 * 1_000_000_000;
        // Lower than any reading of the first life, and standing still.
        let back = Counters { nr_periods: Some(-1), ..Counters::default() };
        let second = after.iter().map(|row| sample(row.time_ns + shift, back));
        let samples: Vec<SampleRow> = before.iter().copied().chain(second).collect();
        let increase = Increase::of(&samples);
        prop_assert_eq!(increase.went_back, 1);
        let expected = Increase::of(&before).span_ns + Increase::of(&after).span_ns;
        prop_assert_eq!(increase.span_ns, expected);
    }

    #[test]
    fn no_increase_is_below_zero_and_nothing_panics(samples in anything()) {
        let counters = Increase::of(&samples).counters;
        for value in [counters.nr_periods, counters.nr_throttled, counters.throttled_ns, counters.usage_ns] {
            prop_assert!(value.is_none_or(|value| value >= 0), "{:?}", value);
        }
    }

    #[test]
    fn what_was_never_read_twice_has_no_increase(samples in anything()) {
        let reads = samples.windows(2).filter(|pair| {
            pair.iter().all(|row| row.counters.throttled_ns.is_some())
        });
        if reads.count() == 0 {
            prop_assert_eq!(Increase::of(&samples).counters.throttled_ns, None);
        }
    }
}

//! Nearest rank: always a value that was seen, at the rank that the definition says.

use proptest::collection::vec;
use proptest::prelude::{ProptestConfig, any, prop_assert, prop_assert_eq, proptest};
use proptest::test_runner::RngSeed;
use unthrottle_analysis::stats::{Summary, nearest_rank};

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
    fn at_least_the_share_lies_at_or_below_and_less_lies_strictly_below(
        mut values in vec(-50..50_i64, 1..300),
        percent in 1..=100_usize,
    ) {
        values.sort_unstable();
        let value = nearest_rank(&values, percent).expect("a value");
        let (below, at_most) = (
            values.iter().filter(|each| **each < value).count(),
            values.iter().filter(|each| **each <= value).count(),
        );
        prop_assert!(at_most * 100 >= percent * values.len());
        prop_assert!(below * 100 < percent * values.len());
    }

    #[test]
    fn percentiles_rise(mut values in vec(any::<i64>(), 1..200), a in 1..=100_usize, b in 1..=100_usize) {
        values.sort_unstable();
        let (low, high) = (a.min(b), a.max(b));
        prop_assert!(nearest_rank(&values, low) <= nearest_rank(&values, high));
        prop_assert_eq!(nearest_rank(&values, 100), values.last().copied());
    }

    #[test]
    fn a_summary_does_not_depend_on_the_order(values in vec(any::<i64>(), 0..200), turn in any::<proptest::sample::Index>()) {
        let mut turned = values.clone();
        if !turned.is_empty() {
            let at = turn.index(turned.len());
            turned.rotate_left(at);
        }
        prop_assert_eq!(Summary::of(values.clone()), Summary::of(turned));
        match Summary::of(values.clone()) {
            None => prop_assert!(values.is_empty()),
            Some(s) => {
                prop_assert_eq!(s.count, values.len());
                let rising = [s.min_ns, s.p50_ns, s.p90_ns, s.p99_ns, s.max_ns];
                prop_assert!(rising.is_sorted());
                prop_assert!(rising.iter().all(|value| values.contains(value)));
            }
        }
    }

    /// Fewer than ten values beyond p99: below a thousand of them.
    #[test]
    fn p99_is_weak_below_a_thousand_values(count in 1..3_000_i64) {
        let summary = Summary::of((0..count).collect()).expect("values");
        prop_assert_eq!(summary.p99_weak(), count < 1_000);
    }
}

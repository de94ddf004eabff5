//! Percentiles by nearest rank: always a value that was really seen.

/// A summary of times in ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// How many values.
    pub count: usize,
    /// Smallest, ns.
    pub min_ns: i64,
    /// Median, ns.
    pub p50_ns: i64,
    /// 90th percentile, ns.
    pub p90_ns: i64,
    /// 99th percentile, ns.
    pub p99_ns: i64,
    /// Largest, ns.
    pub max_ns: i64,
}

impl Summary {
    /// Of any values, in any order; `None` if there are none.
    #[must_use]
    pub fn of(mut values: Vec<i64>) -> Option<Self> {
        values.sort_unstable();
        Some(Self {
            count: values.len(),
            min_ns: *values.first()?,
            p50_ns: nearest_rank(&values, 50)?,
            p90_ns: nearest_rank(&values, 90)?,
            p99_ns: nearest_rank(&values, 99)?,
            max_ns: *values.last()?,
        })
    }

    /// Whether p99 has fewer than ten values beyond it, and so says little.
    #[must_use]
    pub fn p99_weak(&self) -> bool {
        beyond(self.count, 99) < 10
    }
}

/// The value at rank ceil(percent / 100 x n), counted from 1, of sorted values.
#[must_use]
pub fn nearest_rank(sorted: &[i64], percent: usize) -> Option<i64> {
    sorted.get(rank(sorted.len(), percent).checked_sub(1)?).copied()
}

fn rank(count: usize, percent: usize) -> usize {
    (count * percent).div_ceil(100).clamp(count.min(1), count)
}

fn beyond(count: usize, percent: usize) -> usize {
    count - rank(count, percent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks() {
        let values: Vec<i64> = (1..=1200).collect();
        assert_eq!(nearest_rank(&values, 99), Some(1188));
        assert_eq!(nearest_rank(&values[..400], 99), Some(396));
        assert_eq!(nearest_rank(&values[..1], 50), Some(1));
        assert_eq!(nearest_rank(&[], 50), None);
        assert_eq!(nearest_rank(&values[..2], 50), Some(1));
    }

    #[test]
    fn weak_tails() {
        let of = |n: i64| Summary::of((0..n).collect()).expect("values");
        assert!(of(900).p99_weak());
        assert!(!of(1000).p99_weak());
    }
}

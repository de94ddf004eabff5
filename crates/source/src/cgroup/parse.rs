//! The text of cgroup files. By key, in any order; keys that are not known are left alone.

use unthrottle_model::limit::{CpuLimit, Quota};
use unthrottle_model::rows::{Counters, Hierarchy};

/// `KEY VALUE` lines.
fn pairs(text: &str) -> impl Iterator<Item = (&str, i64)> {
    text.lines().filter_map(|line| {
        let mut words = line.split_ascii_whitespace();
        let (key, value) = (words.next()?, words.next()?);
        Some((key, value.parse().ok()?))
    })
}

/// Adds what `cpu.stat` says. v1 gives nanoseconds, v2 microseconds; both become nanoseconds here.
pub fn cpu_stat(text: &str, hierarchy: Hierarchy, into: &mut Counters) {
    let us = |value: i64| value.checked_mul(1_000);
    for (key, value) in pairs(text) {
        match key {
            "nr_periods" => into.nr_periods = Some(value),
            "nr_throttled" => into.nr_throttled = Some(value),
            "nr_bursts" => into.nr_bursts = Some(value),
            "throttled_time" => into.throttled_ns = Some(value),
            "burst_time" => into.burst_ns = Some(value),
            "throttled_usec" => into.throttled_ns = us(value),
            "burst_usec" => into.burst_ns = us(value),
            // On v1 this file has no usage; the root of v2 has usage and nothing else.
            "usage_usec" if hierarchy == Hierarchy::V2 => into.usage_ns = us(value),
            _ => {}
        }
    }
}

/// `cpu.stat.local`: one key, in the unit of its name.
#[must_use]
pub fn throttled_local_ns(text: &str) -> Option<i64> {
    pairs(text).find_map(|(key, value)| match key {
        "throttled_usec" => value.checked_mul(1_000),
        "throttled_time" => Some(value),
        _ => None,
    })
}

/// `cpu.max`: `QUOTA PERIOD` or `max PERIOD`. Further fields (vendor kernels) are left alone.
#[must_use]
pub fn cpu_max(text: &str, burst_us: u64) -> Option<CpuLimit> {
    let mut words = text.split_ascii_whitespace();
    let quota = words.next()?;
    let period_us: u64 = words.next().map_or(Some(100_000), |word| word.parse().ok())?;
    if quota == "max" {
        return Some(CpuLimit::Unlimited);
    }
    quota_of(quota.parse().ok()?, period_us, burst_us)
}

/// v1: `cpu.cfs_quota_us` (-1 = none) and `cpu.cfs_period_us`.
#[must_use]
pub fn cfs_limit(quota: &str, period: &str, burst_us: u64) -> Option<CpuLimit> {
    let quota: i64 = quota.trim().parse().ok()?;
    if quota < 0 {
        return Some(CpuLimit::Unlimited);
    }
    quota_of(quota.unsigned_abs(), period.trim().parse().ok()?, burst_us)
}

fn quota_of(quota_us: u64, period_us: u64, burst_us: u64) -> Option<CpuLimit> {
    // No kernel takes less than 1 ms of either: nothing at all is a damaged file.
    (quota_us > 0 && period_us > 0).then_some(CpuLimit::Quota(Quota {
        quota_us,
        period_us,
        burst_us,
    }))
}

/// Totals of a pressure file, ns: `some`, `full`.
#[must_use]
pub fn pressure_ns(text: &str) -> (Option<i64>, Option<i64>) {
    let total = |word: &str| {
        text.lines()
            .find(|line| line.split_ascii_whitespace().next() == Some(word))?
            .split_ascii_whitespace()
            .find_map(|field| field.strip_prefix("total="))?
            .parse::<i64>()
            .ok()?
            .checked_mul(1_000)
    };
    (total("some"), total("full"))
}

/// Ids in `cgroup.procs`. 0 is a process outside of the reader's PID namespace: counted out.
#[must_use]
pub fn pids(text: &str) -> Vec<u32> {
    text.lines().filter_map(|line| line.trim().parse().ok()).filter(|pid| *pid != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn v1_and_v2_agree_in_ns() {
        let mut v1 = Counters::default();
        cpu_stat(
            "nr_periods 7\nnr_throttled 3\nthrottled_time 139381000\n",
            Hierarchy::V1Cpu,
            &mut v1,
        );
        let mut v2 = Counters::default();
        cpu_stat("throttled_usec 139381\nnr_throttled 3\nnr_periods 7\n", Hierarchy::V2, &mut v2);
        assert_eq!(v1, v2);
        assert_eq!(v1.throttled_ns, Some(139_381_000));
    }

    #[test]
    fn new_keys_and_other_orders() {
        let mut counters = Counters::default();
        let text = "burst_usec 4\nnice_usec 1\nusage_usec 12\ncore_sched.force_idle_usec 0\n\
                    made_up 9 9 9\nnr_bursts 2\nwait_sum 5\nbroken\nnr_periods x\n";
        cpu_stat(text, Hierarchy::V2, &mut counters);
        assert_eq!(counters.usage_ns, Some(12_000));
        assert_eq!(counters.nr_bursts, Some(2));
        assert_eq!(counters.burst_ns, Some(4_000));
        assert_eq!(counters.nr_periods, None);
    }

    #[test]
    fn limits() {
        let quota =
            |quota_us, period_us| Some(CpuLimit::Quota(Quota { quota_us, period_us, burst_us: 0 }));
        assert_eq!(cpu_max("50000 100000\n", 0), quota(50_000, 100_000));
        assert_eq!(cpu_max("max 100000\n", 0), Some(CpuLimit::Unlimited));
        assert_eq!(cpu_max("max 100000 0\n", 0), Some(CpuLimit::Unlimited));
        assert_eq!(cpu_max("max\n", 0), Some(CpuLimit::Unlimited));
        assert_eq!(cpu_max("", 0), None);
        assert_eq!(cpu_max("50000 0", 0), None);
        assert_eq!(cfs_limit("-1\n", "100000\n", 0), Some(CpuLimit::Unlimited));
        assert_eq!(cfs_limit("218803", "100000", 0), quota(218_803, 100_000));
        assert_eq!(cfs_limit("50000", "20000", 0).and_then(|l| l.cores()), Some(2.5));
        assert_eq!(cfs_limit("x", "100000", 0), None);
    }

    #[test]
    fn pressure() {
        let text = "some avg10=58.43 avg60=0.10 avg300=0.47 total=3602154\nfull avg10=0 total=7\n";
        assert_eq!(pressure_ns(text), (Some(3_602_154_000), Some(7_000)));
        assert_eq!(pressure_ns(""), (None, None));
    }
}

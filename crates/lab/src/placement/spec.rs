//! What a workload's group should be.

use unthrottle_model::Quota;
use unthrottle_model::limit::{MIN_QUOTA_US, PERIOD_RANGE_US};

use super::error::PlacementError;

/// A group to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupSpec {
    /// Its quota; `None` = no limit of its own.
    pub limit: Option<Quota>,
    /// Its share of the CPUs when others want them too.
    pub weight: Weight,
}

/// A group's share of busy CPUs. It does not touch the quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// As the kernel makes groups.
    Default,
    /// So high that other load on the machine hardly delays the workload.
    High,
}

/// Largest budget the kernel takes, us (`max_bw_runtime_us`, core.c: 44 bits).
const MAX_BUDGET_US: u64 = (1 << 44) - 1;

/// Refuses what the kernel would refuse, before anything is written: its own answer would be a bare
/// "invalid argument".
pub(super) fn check(limit: Option<&Quota>) -> Result<(), PlacementError> {
    let Some(quota) = limit else { return Ok(()) };
    if !PERIOD_RANGE_US.contains(&quota.period_us) {
        return Err(PlacementError::Period { period_us: quota.period_us });
    }
    if quota.quota_us < MIN_QUOTA_US || quota.quota_us > MAX_BUDGET_US {
        return Err(PlacementError::Quota {
            quota_us: quota.quota_us,
            period_us: quota.period_us,
            max_us: MAX_BUDGET_US,
        });
    }
    if quota.burst_us > quota.quota_us {
        return Err(PlacementError::Burst { burst_us: quota.burst_us, quota_us: quota.quota_us });
    }
    if quota.burst_us + quota.quota_us > MAX_BUDGET_US {
        return Err(PlacementError::Quota {
            quota_us: quota.quota_us,
            period_us: quota.period_us,
            max_us: MAX_BUDGET_US - quota.burst_us,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use unthrottle_model::{ErrorKind, Explained};

    use super::*;

    fn refused(quota_us: u64, period_us: u64, burst_us: u64) -> Option<String> {
        let result = check(Some(&Quota { quota_us, period_us, burst_us }));
        result.err().map(|error| {
            assert_eq!(error.kind(), ErrorKind::User);
            assert!(error.hint().is_some());
            error.to_string()
        })
    }

    #[test]
    fn the_kernels_range() {
        assert!(check(None).is_ok());
        for (quota, period, burst) in
            [(1_000, 1_000, 0), (50_000, 100_000, 50_000), (64_000_000, 1_000_000, 0)]
        {
            assert_eq!(refused(quota, period, burst), None);
        }
        assert_eq!(
            refused(999, 100_000, 0).as_deref(),
            Some("a quota of 999 us per 100000 us is outside of what the kernel takes")
        );
        assert_eq!(
            refused(50_000, 999, 0).as_deref(),
            Some("a period of 999 us is outside of what the kernel takes")
        );
        assert!(refused(50_000, 1_000_001, 0).is_some());
        assert!(refused(50_000, 0, 0).is_some());
        assert_eq!(
            refused(50_000, 100_000, 50_001).as_deref(),
            Some("a burst of 50001 us is larger than the quota of 50000 us")
        );
        assert!(refused(u64::MAX, 100_000, u64::MAX).is_some());
        assert!(refused(MAX_BUDGET_US, 100_000, 1).is_some());
    }
}

//! A CPU limit as the kernel holds it: a budget of CPU time per period.

/// What one group may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CpuLimit {
    /// No quota is set on this group. A parent may still have one.
    Unlimited,
    /// A quota is set.
    Quota(Quota),
}

/// Budget and period, in the kernel's own microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Quota {
    /// CPU time per period, us. The kernel's minimum is 1000.
    pub quota_us: u64,
    /// Length of the period, us, from 1000 to 1000000.
    pub period_us: u64,
    /// CPU time that may be saved up beyond the quota, us (`cpu.max.burst`, since 5.14).
    pub burst_us: u64,
}

/// Smallest and largest period the kernel takes, us (`min/max_cfs_quota_period`, core.c).
pub const PERIOD_RANGE_US: std::ops::RangeInclusive<u64> = 1_000..=1_000_000;
/// Smallest quota the kernel takes, us.
pub const MIN_QUOTA_US: u64 = 1_000;

impl Quota {
    /// The limit in cores: quota / period.
    #[must_use]
    pub fn cores(&self) -> f64 {
        self.quota_us as f64 / self.period_us as f64
    }
}

impl CpuLimit {
    /// The limit in cores, `None` if there is none.
    #[must_use]
    pub fn cores(&self) -> Option<f64> {
        match self {
            Self::Unlimited => None,
            Self::Quota(quota) => Some(quota.cores()),
        }
    }

    /// The quota, if one is set.
    #[must_use]
    pub fn quota(&self) -> Option<&Quota> {
        match self {
            Self::Unlimited => None,
            Self::Quota(quota) => Some(quota),
        }
    }
}

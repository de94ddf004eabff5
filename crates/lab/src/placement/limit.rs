//! Writing a quota, in an order that the kernel accepts at every step.
//!
//! v1 has three files and checks each write against the other two and against the parent; v2 has
//! one for quota and period and one for the burst. Every write gives the group a fresh budget and
//! ends a stop (kernel: `tg_set_cfs_bandwidth`), so what is set already is not written again.

use std::io;
use std::path::Path;

use unthrottle_model::Quota;
use unthrottle_model::rows::Hierarchy;

use super::error::PlacementError;
use super::spec::check;
use super::tree::Tree;

/// What the files say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Current {
    /// `None` = unlimited.
    quota_us: Option<u64>,
    period_us: u64,
    /// `None` = this kernel has no burst.
    burst_us: Option<u64>,
}

/// One value for one file.
type Write = (&'static str, String);

const V1_QUOTA: &str = "cpu.cfs_quota_us";
const V1_PERIOD: &str = "cpu.cfs_period_us";
const V1_BURST: &str = "cpu.cfs_burst_us";
const V2_MAX: &str = "cpu.max";
const V2_BURST: &str = "cpu.max.burst";

/// Sets the limit of a group; `None` = unlimited.
pub(super) fn set(
    tree: &dyn Tree,
    hierarchy: Hierarchy,
    group: &Path,
    limit: Option<&Quota>,
) -> Result<(), PlacementError> {
    check(limit)?;
    let (current, burst_file) = match hierarchy {
        Hierarchy::V1Cpu => (read_v1(tree, group), V1_BURST),
        Hierarchy::V2 => (read_v2(tree, group), V2_BURST),
    };
    let current = current
        .map_err(|source| PlacementError::no_place(group.to_owned(), "read its limit", source))?;
    if current.burst_us.is_none() && limit.is_some_and(|quota| quota.burst_us > 0) {
        return Err(PlacementError::NoBurst { path: group.join(burst_file) });
    }
    let writes = match hierarchy {
        Hierarchy::V1Cpu => v1_writes(current, limit),
        Hierarchy::V2 => v2_writes(current, limit),
    };
    for (file, value) in writes {
        let path = group.join(file);
        if let Err(source) = tree.write(&path, &value) {
            let invalid = source.kind() == io::ErrorKind::InvalidInput;
            let above = limit.filter(|_| invalid && hierarchy == Hierarchy::V1Cpu);
            return Err(above
                .and_then(|quota| above_parent(tree, group, quota))
                .unwrap_or(PlacementError::Write { path, value, source }));
        }
    }
    Ok(())
}

/// Removes the limit without a word: for groups about to go, whose processes should end quickly.
pub(super) fn lift(tree: &dyn Tree, group: &Path) {
    let _v1 = tree.write(&group.join(V1_QUOTA), "-1");
    let _v2 = tree.write(&group.join(V2_MAX), "max");
}

fn v1_writes(current: Current, limit: Option<&Quota>) -> Vec<Write> {
    let Some(quota) = limit else {
        return current.quota_us.map(|_| (V1_QUOTA, "-1".to_owned())).into_iter().collect();
    };
    let mut writes = Vec::new();
    let write_quota =
        (current.quota_us != Some(quota.quota_us)).then(|| (V1_QUOTA, quota.quota_us.to_string()));
    let write_period =
        (current.period_us != quota.period_us).then(|| (V1_PERIOD, quota.period_us.to_string()));
    // In between, quota / period must stay below the larger of old and new: the parent is known to
    // allow only those two.
    let shrinks = current.quota_us.is_some_and(|old| quota.quota_us < old);
    if shrinks {
        writes.extend(write_quota.into_iter().chain(write_period));
    } else {
        writes.extend(write_period.into_iter().chain(write_quota));
    }
    place_burst(writes, current, quota, V1_BURST)
}

fn v2_writes(current: Current, limit: Option<&Quota>) -> Vec<Write> {
    let Some(quota) = limit else {
        return current.quota_us.map(|_| (V2_MAX, "max".to_owned())).into_iter().collect();
    };
    let same = (current.quota_us, current.period_us) == (Some(quota.quota_us), quota.period_us);
    let writes = if same {
        Vec::new()
    } else {
        vec![(V2_MAX, format!("{} {}", quota.quota_us, quota.period_us))]
    };
    place_burst(writes, current, quota, V2_BURST)
}

/// A burst may never be above the quota: it shrinks first and grows last.
fn place_burst(
    mut writes: Vec<Write>,
    current: Current,
    quota: &Quota,
    file: &'static str,
) -> Vec<Write> {
    let write = (file, quota.burst_us.to_string());
    match current.burst_us {
        Some(old) if quota.burst_us < old => writes.insert(0, write),
        Some(old) if quota.burst_us > old => writes.push(write),
        _ => {}
    }
    writes
}

fn read_v1(tree: &dyn Tree, group: &Path) -> io::Result<Current> {
    let text = tree.read(&group.join(V1_QUOTA))?;
    let period_us = number(&tree.read(&group.join(V1_PERIOD))?)?;
    // `-1` = unlimited.
    Ok(Current { quota_us: number(&text).ok(), period_us, burst_us: burst(tree, group, V1_BURST)? })
}

fn read_v2(tree: &dyn Tree, group: &Path) -> io::Result<Current> {
    let text = tree.read(&group.join(V2_MAX))?;
    let (quota, period) = text.trim().split_once(' ').ok_or(io::ErrorKind::InvalidData)?;
    // `max` = unlimited.
    Ok(Current {
        quota_us: number(quota).ok(),
        period_us: number(period)?,
        burst_us: burst(tree, group, V2_BURST)?,
    })
}

fn burst(tree: &dyn Tree, group: &Path, file: &str) -> io::Result<Option<u64>> {
    match tree.read(&group.join(file)) {
        Ok(text) => number(&text).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn number(text: &str) -> io::Result<u64> {
    text.trim().parse().map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The nearest group above with a smaller ratio, if there is one.
fn above_parent(tree: &dyn Tree, group: &Path, quota: &Quota) -> Option<PlacementError> {
    let mut dir = group;
    loop {
        dir = dir.parent()?;
        let current = read_v1(tree, dir).ok()?;
        let Some(quota_us) = current.quota_us else { continue };
        let parent_cores = quota_us as f64 / current.period_us as f64;
        if parent_cores < quota.cores() {
            return Some(PlacementError::AboveParent {
                path: group.to_owned(),
                cores: quota.cores(),
                parent: dir.to_owned(),
                parent_cores,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota(quota_us: u64, period_us: u64, burst_us: u64) -> Quota {
        Quota { quota_us, period_us, burst_us }
    }

    fn show(writes: &[Write]) -> Vec<String> {
        writes.iter().map(|(file, value)| format!("{file}={value}")).collect()
    }

    /// The kernel's checks after each v1 write, with a parent that allows `most` cores.
    fn follow(mut state: Current, writes: &[Write], most: f64) -> Current {
        for (file, value) in writes {
            match *file {
                V1_QUOTA => state.quota_us = value.parse().ok(),
                V1_PERIOD => state.period_us = value.parse().expect("a number"),
                V1_BURST => state.burst_us = value.parse().ok(),
                other => panic!("{other}"),
            }
            if let Some(quota_us) = state.quota_us {
                let cores = quota_us as f64 / state.period_us as f64;
                assert!(cores <= most * 1.000_001, "{writes:?}: {cores} above {most}");
                assert!(state.burst_us.unwrap_or(0) <= quota_us, "{writes:?}");
            }
        }
        state
    }

    #[test]
    fn every_step_is_allowed_from_any_limit_to_any_other() {
        let quotas = [
            quota(1_000, 1_000, 0),
            quota(1_000, 1_000_000, 0),
            quota(50_000, 100_000, 0),
            quota(50_000, 100_000, 50_000),
            quota(5_000, 10_000, 1_000),
            quota(100_000, 100_000, 10_000),
            quota(400_000, 100_000, 400_000),
            quota(900_000, 1_000_000, 100),
        ];
        let unlimited = Current { quota_us: None, period_us: 100_000, burst_us: Some(0) };
        for first in quotas {
            let writes = v1_writes(unlimited, Some(&first));
            let at_first = follow(unlimited, &writes, first.cores());
            for second in quotas {
                let most = first.cores().max(second.cores());
                let at_second = follow(at_first, &v1_writes(at_first, Some(&second)), most);
                let expected = Current {
                    quota_us: Some(second.quota_us),
                    period_us: second.period_us,
                    burst_us: Some(second.burst_us),
                };
                assert_eq!(at_second, expected);
                // Nothing to do, nothing written: each write would end a stop.
                assert_eq!(v1_writes(at_second, Some(&second)), Vec::<Write>::new());
                let lifted = follow(at_second, &v1_writes(at_second, None), most);
                assert_eq!(lifted.quota_us, None);
                follow(lifted, &v1_writes(lifted, Some(&first)), first.cores());
            }
        }
    }

    #[test]
    fn v2_takes_quota_and_period_at_once() {
        let now = Current { quota_us: None, period_us: 100_000, burst_us: Some(0) };
        let set = |now, limit: Quota| show(&v2_writes(now, Some(&limit)));
        assert_eq!(set(now, quota(50_000, 100_000, 0)), ["cpu.max=50000 100000"]);
        assert_eq!(
            set(now, quota(50_000, 100_000, 20_000)),
            ["cpu.max=50000 100000", "cpu.max.burst=20000"]
        );
        let with_burst =
            Current { quota_us: Some(50_000), period_us: 100_000, burst_us: Some(40_000) };
        assert_eq!(
            set(with_burst, quota(20_000, 100_000, 10_000)),
            ["cpu.max.burst=10000", "cpu.max=20000 100000"]
        );
        assert_eq!(set(with_burst, quota(50_000, 100_000, 40_000)), Vec::<String>::new());
        assert_eq!(show(&v2_writes(with_burst, None)), ["cpu.max=max"]);
        assert_eq!(show(&v2_writes(now, None)), Vec::<String>::new());
        // Before 5.14 there is no burst to write.
        let old = Current { burst_us: None, ..now };
        assert_eq!(set(old, quota(50_000, 100_000, 0)), ["cpu.max=50000 100000"]);
    }
}

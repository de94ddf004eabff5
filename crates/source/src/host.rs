//! Facts about the machine, and its CPU time second by second.

use std::path::Path;

use rustix::time::{ClockId, clock_getres, clock_gettime};
use unthrottle_model::cpuset::count_cpus;
use unthrottle_model::recording::HostFacts;
use unthrottle_model::rows::HostRow;

use crate::cgroup::parse::pressure_ns;
use crate::clock::monotonic_ns;
use crate::read;
use crate::root::Root;

/// /proc/stat counts in hundredths of a second on every architecture we run on (`USER_HZ`).
const USER_TICK_NS: i64 = 10_000_000;

/// Collects the facts. What cannot be seen is `None`.
#[must_use]
pub fn facts(root: &Root) -> HostFacts {
    let text = |rest: &str| read::try_text(&root.proc(rest)).ok();
    let kernel = text("sys/kernel/osrelease").map_or_else(String::new, |t| t.trim().to_owned());
    HostFacts {
        kernel_version: version_of(&kernel),
        kernel,
        hz: root.live().then(tick_hz).flatten(),
        cpus_online: cpus_online(root),
        cpus_allowed: text("self/status").and_then(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
            count_cpus(line)
        }),
        schedstats: text("sys/kernel/sched_schedstats").map(|state| state.trim() == "1"),
        slice_us: text("sys/kernel/sched_cfs_bandwidth_slice_us")
            .and_then(|t| t.trim().parse().ok()),
        sched_ext: read::try_text(&root.join(Path::new("/sys/kernel/sched_ext/state")))
            .ok()
            .map(|state| state.trim().to_owned()),
    }
}

/// `6.18.44-x` is (6, 18).
#[must_use]
pub fn version_of(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|c: char| !c.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// The tick: resolution of the coarse clock is one tick exactly (`KTIME_LOW_RES`, hrtimer.h), and
/// anyone may ask; kernel configs are often not there to read.
fn tick_hz() -> Option<u32> {
    let tick = clock_getres(ClockId::MonotonicCoarse);
    let tick_ns = tick.tv_sec * 1_000_000_000 + tick.tv_nsec;
    (tick_ns > 0).then(|| u32::try_from((1_000_000_000 + tick_ns / 2) / tick_ns).ok()).flatten()
}

fn cpus_online(root: &Root) -> u32 {
    let online = read::try_text(&root.join(Path::new("/sys/devices/system/cpu/online"))).ok();
    let from_sys = online.and_then(|text| count_cpus(&text)).filter(|count| *count > 0);
    from_sys
        .or_else(|| {
            let stat = read::try_text(&root.proc("stat")).ok()?;
            let cpus = stat.lines().filter(|line| {
                line.strip_prefix("cpu")
                    .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            });
            u32::try_from(cpus.count()).ok().filter(|count| *count > 0)
        })
        .unwrap_or(1)
}

/// CPU time of the machine so far; `None` if /proc/stat cannot be read.
#[must_use]
pub fn row(root: &Root) -> Option<HostRow> {
    let stat = read::try_text(&root.proc("stat")).ok()?;
    let time_ns = monotonic_ns();
    let mut row = parse_stat(&stat)?;
    row.time_ns = time_ns;
    row.psi_some_ns =
        read::try_text(&root.proc("pressure/cpu")).ok().and_then(|text| pressure_ns(&text).0);
    row.own_ns = own_cpu_ns();
    Some(row)
}

/// The `cpu` line: user nice system idle iowait irq softirq steal guest guest_nice. Guest time is
/// part of user time already (proc_stat(5)).
fn parse_stat(text: &str) -> Option<HostRow> {
    let line = text.lines().find(|line| line.starts_with("cpu "))?;
    let ticks: Vec<i64> =
        line.split_ascii_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
    let at = |index: usize| ticks.get(index).copied().unwrap_or(0);
    if ticks.len() < 4 {
        return None;
    }
    let busy = [0, 1, 2, 5, 6].into_iter().map(at).fold(0_i64, i64::saturating_add);
    let idle = at(3).saturating_add(at(4));
    let total = busy.saturating_add(idle).saturating_add(at(7));
    Some(HostRow {
        busy_ns: busy.saturating_mul(USER_TICK_NS),
        steal_ns: at(7).saturating_mul(USER_TICK_NS),
        total_ns: total.saturating_mul(USER_TICK_NS),
        ..HostRow::default()
    })
}

/// CPU time of this process, all threads, ns.
#[must_use]
pub fn own_cpu_ns() -> i64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases() {
        assert_eq!(version_of("6.18.44-fc-v595"), Some((6, 18)));
        assert_eq!(version_of("4.18.0-rc4"), Some((4, 18)));
        assert_eq!(version_of("odd"), None);
    }

    #[test]
    fn stat_line() {
        let row = parse_stat("cpu  1683 0 1228 51442 183 0 17 9 0 0\ncpu0 1 2\n").expect("a row");
        assert_eq!(row.busy_ns, (1683 + 1228 + 17) * USER_TICK_NS);
        assert_eq!(row.steal_ns, 9 * USER_TICK_NS);
        assert_eq!(row.total_ns, (1683 + 1228 + 17 + 51442 + 183 + 9) * USER_TICK_NS);
        assert_eq!(parse_stat("cpu  1 2\n"), None);
        assert_eq!(parse_stat(""), None);
    }
}

//! What else the machine did: steal, other load, waiting threads.

use unthrottle_model::recording::Recording;

/// Share of the wanted CPU time that counts as contention when spent waiting for a CPU.
pub const CONTENTION_RATIO: f64 = 0.1;

/// Share of the group's CPU time that the threads read must have used, for their waiting to stand for
/// the group's: threads that come and go between two readings are not among them.
pub const COVERAGE_RATIO: f64 = 0.5;

/// Other load, in cores of a machine, above which a run of ours counts as disturbed: a third of a
/// core is where repeated runs of the base experiment began to differ beyond their own spread.
pub const DISTURBED_CORES: f64 = 0.33;

/// Steal above this share of the machine disturbs too.
pub const DISTURBED_STEAL: f64 = 0.02;

/// The host over the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HostUse {
    /// Share of all CPU time that the hypervisor gave to others.
    pub steal_ratio: f64,
    /// Cores busy with anything.
    pub busy_cores: f64,
    /// Cores used by this process itself.
    pub own_cores: f64,
    /// Cores used by neither the target nor this process; `None` if the target's use is unknown.
    pub other_cores: Option<f64>,
    /// PSI `some` of the host as a share of the window.
    pub psi_some_ratio: Option<f64>,
}

/// Of the host rows; `None` with fewer than two.
#[must_use]
pub fn host_use(recording: &Recording, target_cores: Option<f64>) -> Option<HostUse> {
    let (first, last) = (recording.rows.host.first()?, recording.rows.host.last()?);
    let span_ns = (last.time_ns - first.time_ns) as f64;
    if span_ns <= 0.0 {
        return None;
    }
    let cores = |from: i64, to: i64| to.saturating_sub(from).max(0) as f64 / span_ns;
    let busy_cores = cores(first.busy_ns, last.busy_ns);
    let own_cores = cores(first.own_ns, last.own_ns);
    let total = last.total_ns.saturating_sub(first.total_ns).max(1) as f64;
    Some(HostUse {
        steal_ratio: last.steal_ns.saturating_sub(first.steal_ns).max(0) as f64 / total,
        busy_cores,
        own_cores,
        other_cores: target_cores.map(|target| (busy_cores - target - own_cores).max(0.0)),
        psi_some_ratio: match (first.psi_some_ns, last.psi_some_ns) {
            (Some(from), Some(to)) => Some(cores(from, to)),
            _ => None,
        },
    })
}

/// Waiting of the target's threads over the window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Waiting {
    /// Processes at the end.
    pub processes: u32,
    /// Threads at the end.
    pub threads: u32,
    /// CPU time the threads used, ns.
    pub on_cpu_ns: i64,
    /// Time they were runnable and not running, ns: queueing and stops.
    pub run_delay_ns: i64,
    /// Threads not read at the worst moment.
    pub unread: u32,
}

impl Waiting {
    /// Share of the CPU time they wanted that was spent waiting; `None` if they wanted none.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        let wanted = self.on_cpu_ns + self.run_delay_ns;
        (wanted > 0).then(|| self.run_delay_ns as f64 / wanted as f64)
    }
}

/// Of the thread rows; `None` with fewer than two, or if there are threads and none could be read.
#[must_use]
pub fn waiting(recording: &Recording) -> Option<Waiting> {
    let rows = &recording.rows.threads;
    let (first, last) = (rows.first()?, rows.last()?);
    let unread = rows.iter().map(|row| row.unread).max().unwrap_or(0);
    // A group without threads wants nothing, and that is known.
    let readable = unread == 0 || rows.iter().any(|row| row.threads > row.unread);
    (rows.len() >= 2 && readable).then(|| Waiting {
        processes: last.processes,
        threads: last.threads,
        on_cpu_ns: last.on_cpu_ns - first.on_cpu_ns,
        run_delay_ns: last.run_delay_ns - first.run_delay_ns,
        unread,
    })
}

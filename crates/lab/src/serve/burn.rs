//! Burning a known amount of CPU.

use std::hint::black_box;

use rustix::time::{ClockId, clock_gettime};
use sha2::{Digest, Sha256};

/// How a request's CPU time is burned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Burn {
    /// Polls the thread's CPU clock until the cost is used: exact time. Each poll also makes the
    /// kernel account the time at once, so the group is stopped without delay.
    Clock,
    /// A chain of SHA-256 in pure user mode: fixed work. The kernel notices its use of CPU at the
    /// next tick only, so it overruns the quota by up to a tick, as real services do.
    Hash {
        /// Hashes per request; `None` = as many as take the cost on this machine now.
        hashes: Option<u64>,
    },
}

/// What a worker does per request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Burner {
    Clock { cost_ns: i64 },
    Hash { hashes: u64 },
}

impl Burner {
    pub(super) fn new(burn: Burn, cost_ns: i64) -> Self {
        match burn {
            Burn::Clock => Self::Clock { cost_ns },
            Burn::Hash { hashes: Some(hashes) } => Self::Hash { hashes },
            Burn::Hash { hashes: None } => Self::Hash { hashes: calibrate(cost_ns) },
        }
    }

    pub(super) fn hashes(&self) -> Option<u64> {
        match self {
            Self::Clock { .. } => None,
            Self::Hash { hashes } => Some(*hashes),
        }
    }

    pub(super) fn burn(&self) {
        match *self {
            Self::Clock { cost_ns } => {
                let end_ns = thread_cpu_ns().saturating_add(cost_ns);
                while thread_cpu_ns() < end_ns {}
            }
            Self::Hash { hashes } => hash_chain(hashes),
        }
    }
}

/// CPU time the calling thread has used, ns.
pub(super) fn thread_cpu_ns() -> i64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Each block is the hash of the one before, so no step can be left out or done beside another.
fn hash_chain(hashes: u64) {
    let mut block = [0_u8; 32];
    for _ in 0..hashes {
        block = Sha256::digest(black_box(block)).into();
    }
    black_box(block);
}

/// Before the clock starts: caches, frequency, and the choice of SHA instructions.
const WARM_UP_NS: i64 = 50_000_000;
/// Long against an interrupt or two, short against a change of the machine's frequency.
const ROUND_NS: i64 = 5_000_000;
const ROUNDS: usize = 9;

/// Hashes that take `cost_ns` of thread CPU time: the median of several rounds, so that a round
/// beside a busy neighbour on the same core does not decide.
fn calibrate(cost_ns: i64) -> u64 {
    if cost_ns <= 0 {
        return 0;
    }
    const STEP: u64 = 500;
    let begin_ns = thread_cpu_ns();
    let mut done: u64 = 0;
    while thread_cpu_ns() - begin_ns < WARM_UP_NS {
        hash_chain(STEP);
        done += STEP;
    }
    let rough_ns = (thread_cpu_ns() - begin_ns) as f64 / done as f64;
    let per_round = (ROUND_NS as f64 / rough_ns).ceil().max(1.0) as u64;
    let mut rounds: Vec<i64> = (0..ROUNDS)
        .map(|_| {
            let begin_ns = thread_cpu_ns();
            hash_chain(per_round);
            thread_cpu_ns() - begin_ns
        })
        .collect();
    rounds.sort_unstable();
    let median_ns = rounds[ROUNDS / 2].max(1) as f64 / per_round as f64;
    ((cost_ns as f64 / median_ns).round() as u64).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu_of(burner: Burner) -> i64 {
        let begin_ns = thread_cpu_ns();
        burner.burn();
        thread_cpu_ns() - begin_ns
    }

    #[test]
    fn clock_burns_exactly() {
        for cost_ns in [0, 1_000_000, 20_000_000] {
            let mut used: Vec<i64> =
                (0..5).map(|_| cpu_of(Burner::new(Burn::Clock, cost_ns))).collect();
            used.sort_unstable();
            assert!(used[0] >= cost_ns && used[2] < cost_ns + 1_000_000, "{cost_ns}: {used:?}");
        }
    }

    #[test]
    fn hashing_is_calibrated() {
        let cost_ns = 20_000_000;
        let ratio = || {
            let burner = Burner::new(Burn::Hash { hashes: None }, cost_ns);
            let mut used: Vec<i64> = (0..9).map(|_| cpu_of(burner)).collect();
            used.sort_unstable();
            used[4] as f64 / cost_ns as f64
        };
        // A core's speed changes with its neighbours', also between calibration and use: of some
        // tries one must meet a steady moment. A wrong calibration would be wrong each time.
        let ratios: Vec<f64> = (0..5).map(|_| ratio()).collect();
        let close = ratios.iter().any(|ratio| (0.85..1.15).contains(ratio));
        assert!(close, "{ratios:?}");
        let mean = ratios.iter().sum::<f64>() / 5.0;
        assert!((0.75..1.25).contains(&mean), "{ratios:?}");
    }

    #[test]
    fn given_hashes_are_kept_and_cost_grows_with_them() {
        let few = Burner::new(Burn::Hash { hashes: Some(1_000) }, 1);
        let many = Burner::new(Burn::Hash { hashes: Some(100_000) }, 1);
        assert_eq!(few.hashes(), Some(1_000));
        assert!(cpu_of(many) > 20 * cpu_of(few));
        assert_eq!(Burner::new(Burn::Hash { hashes: None }, 0).hashes(), Some(0));
    }
}

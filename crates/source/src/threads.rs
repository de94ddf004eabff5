//! The target's threads: how long they ran and how long they waited runnable.
//!
//! `/proc/PID/task/TID/schedstat` has both, for anyone to read, where the kernel has SCHED_INFO.
//! A thread that begins and ends between two readings is not seen.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use unthrottle_model::rows::ThreadsRow;

use crate::cgroup::parse::pids;
use crate::clock::monotonic_ns;
use crate::read;
use crate::root::Root;

/// Threads read at most in one go, so that watching never costs more than a few tens of ms a second.
pub const MAX_THREADS: usize = 4096;

/// Depth of subgroups followed below the target.
const MAX_DEPTH: u32 = 8;

/// Adds up the threads of a group and of the groups below it.
#[derive(Debug)]
pub struct Threads {
    root: Root,
    dir: PathBuf,
    last_read_ns: Option<i64>,
    last: HashMap<(u32, u32), Stat>,
    on_cpu_ns: i64,
    run_delay_ns: i64,
}

#[derive(Debug, Clone, Copy)]
struct Stat {
    on_cpu_ns: i64,
    run_delay_ns: i64,
}

impl Threads {
    /// Of the group at `dir` (in the cpu hierarchy).
    #[must_use]
    pub fn new(root: &Root, dir: &Path) -> Self {
        Self {
            root: root.clone(),
            dir: dir.to_owned(),
            last_read_ns: None,
            last: HashMap::new(),
            on_cpu_ns: 0,
            run_delay_ns: 0,
        }
    }

    /// Reads all threads. A thread seen for the first time after the first reading began since.
    pub fn read(&mut self) -> ThreadsRow {
        let time_ns = monotonic_ns();
        let mut processes = Vec::new();
        collect(&self.dir, 0, &mut processes);
        let mut seen = HashMap::with_capacity(self.last.len());
        let mut unread = 0;
        for pid in processes {
            for tid in task_ids(&self.root, pid) {
                if seen.len() >= MAX_THREADS {
                    unread += 1;
                    continue;
                }
                match self.schedstat(pid, tid) {
                    Some(stat) => {
                        seen.insert((pid, tid), stat);
                    }
                    None => unread += 1,
                }
            }
        }
        if let Some(last_ns) = self.last_read_ns {
            // No thread runs or waits longer than the time between two readings (and a tick, by
            // which its account may be late): a process that moved in brings its past with it.
            let most = time_ns - last_ns + 20_000_000;
            for (id, stat) in &seen {
                let zero = Stat { on_cpu_ns: 0, run_delay_ns: 0 };
                let before = self.last.get(id).copied().unwrap_or(zero);
                self.on_cpu_ns += (stat.on_cpu_ns - before.on_cpu_ns).clamp(0, most);
                self.run_delay_ns += (stat.run_delay_ns - before.run_delay_ns).clamp(0, most);
            }
        }
        self.last_read_ns = Some(time_ns);
        let threads = u32::try_from(seen.len()).unwrap_or(u32::MAX).saturating_add(unread);
        self.last = seen;
        ThreadsRow {
            time_ns,
            threads,
            on_cpu_ns: self.on_cpu_ns,
            run_delay_ns: self.run_delay_ns,
            unread,
        }
    }

    fn schedstat(&self, pid: u32, tid: u32) -> Option<Stat> {
        let path = self.root.proc(&format!("{pid}/task/{tid}/schedstat"));
        let text = read::try_text(&path).ok()?;
        let mut words = text.split_ascii_whitespace().map(str::parse::<i64>);
        Some(Stat { on_cpu_ns: words.next()?.ok()?, run_delay_ns: words.next()?.ok()? })
    }
}

fn collect(dir: &Path, depth: u32, into: &mut Vec<u32>) {
    if let Ok(text) = read::try_text(&dir.join("cgroup.procs")) {
        into.extend(pids(&text));
    }
    if depth >= MAX_DEPTH {
        return;
    }
    let Ok(entries) = std::fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            collect(&entry.path(), depth + 1, into);
        }
    }
}

fn task_ids(root: &Root, pid: u32) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir(root.proc(&format!("{pid}/task"))) else {
        return Vec::new();
    };
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

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
    last: HashMap<u32, Stat>,
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
        let mut members = Members::default();
        members.collect(&self.dir, 0);
        let mut unread = members.foreign;
        let mut of_processes = Vec::new();
        for pid in &members.processes {
            match task_ids(&self.root, *pid) {
                Some(tids) => of_processes.extend(tids.into_iter().map(|tid| (*pid, tid))),
                None => unread += 1,
            }
        }
        // Any thread has a directory of its own in /proc, although it is not listed there.
        let single = members.threads.iter().map(|tid| (*tid, *tid));
        let mut seen = HashMap::with_capacity(self.last.len());
        for (pid, tid) in of_processes.into_iter().chain(single) {
            if seen.contains_key(&tid) {
                continue;
            }
            if seen.len() >= MAX_THREADS {
                unread += 1;
                continue;
            }
            match self.schedstat(pid, tid) {
                Some(stat) => {
                    seen.insert(tid, stat);
                }
                None => unread += 1,
            }
        }
        if let Some(last_ns) = self.last_read_ns {
            // No thread runs or waits longer than the time between two readings (and a tick, by
            // which its account may be late): a process that moved in brings its past with it.
            let most = time_ns - last_ns + 20_000_000;
            for (id, stat) in &seen {
                let zero = Stat { on_cpu_ns: 0, run_delay_ns: 0 };
                let before = self.last.get(id).copied().unwrap_or(zero);
                self.on_cpu_ns += stat.on_cpu_ns.saturating_sub(before.on_cpu_ns).clamp(0, most);
                self.run_delay_ns +=
                    stat.run_delay_ns.saturating_sub(before.run_delay_ns).clamp(0, most);
            }
        }
        self.last_read_ns = Some(time_ns);
        let threads = u32::try_from(seen.len()).unwrap_or(u32::MAX).saturating_add(unread);
        self.last = seen;
        ThreadsRow {
            time_ns,
            processes: u32::try_from(members.processes.len()).unwrap_or(u32::MAX),
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

/// Who is in a group and in the groups below it. A thread may be named twice.
#[derive(Debug, Default)]
struct Members {
    processes: Vec<u32>,
    /// Of threaded groups (v2), which hold single threads and do not list processes.
    threads: Vec<u32>,
    /// Those outside of the reader's PID namespace, which the kernel lists as 0.
    foreign: u32,
}

impl Members {
    fn collect(&mut self, dir: &Path, depth: u32) {
        if let Ok(text) = read::try_text(&dir.join("cgroup.procs")) {
            self.processes.extend(pids(&text));
            self.foreign += foreign(&text);
        } else if let Ok(text) = read::try_text(&dir.join("cgroup.threads")) {
            self.threads.extend(pids(&text));
            self.foreign += foreign(&text);
        }
        if depth >= MAX_DEPTH {
            return;
        }
        let Ok(entries) = std::fs::read_dir(dir) else { return };
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                self.collect(&entry.path(), depth + 1);
            }
        }
    }
}

fn foreign(procs: &str) -> u32 {
    u32::try_from(procs.lines().filter(|line| line.trim() == "0").count()).unwrap_or(u32::MAX)
}

/// `None` if the process ended meanwhile, or is hidden from this user (`hidepid`).
fn task_ids(root: &Root, pid: u32) -> Option<Vec<u32>> {
    let entries = std::fs::read_dir(root.proc(&format!("{pid}/task"))).ok()?;
    Some(entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect())
}

#[cfg(test)]
mod tests {
    use unthrottle_testkit::FakeTree;

    use super::*;

    fn read(threads: &mut Threads) -> (u32, u32, i64, i64) {
        let row = threads.read();
        (row.threads, row.unread, row.on_cpu_ns, row.run_delay_ns)
    }

    /// A process 7 with a second thread 8, which is in a threaded group of its own.
    #[test]
    fn threaded_groups_list_threads_only() {
        let tree = FakeTree::v2();
        tree.process_in(7, "/a", "x").group("/a", |group| group.procs(&[7]));
        tree.group("/a/t", |group| group.threads(&[8]));
        // What the kernel answers for it is EOPNOTSUPP.
        tree.remove("sys/fs/cgroup/a/t/cgroup.procs");
        let schedstat = |tid: u32, text: &str| {
            tree.file(&format!("proc/7/task/{tid}/schedstat"), text)
                .file(&format!("proc/{tid}/task/{tid}/schedstat"), text);
        };
        schedstat(7, "10 20 1\n");
        schedstat(8, "100 200 1\n");
        let root = Root::at(tree.root());
        let mut inner = Threads::new(&root, &tree.directory("cpu", "/a/t"));
        let mut whole = Threads::new(&root, &tree.directory("cpu", "/a"));
        assert_eq!(read(&mut inner), (1, 0, 0, 0));
        assert_eq!(read(&mut whole), (2, 0, 0, 0));
        schedstat(7, "11 21 1\n");
        schedstat(8, "105 206 1\n");
        assert_eq!(read(&mut inner), (1, 0, 5, 6));
        assert_eq!(read(&mut whole), (2, 0, 6, 7), "each thread once");
    }
}

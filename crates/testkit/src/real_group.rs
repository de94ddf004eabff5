//! Real groups on cgroup v1, with real processes in them.
//!
//! Made directly through the files, not through the lab: a test of the lab or of the readers must
//! not rest on their own code. Everything ends when the value is dropped.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::hierarchies;
use crate::must;

/// Longest life of a process that a test forgot, s.
const LONGEST: &str = "120";

/// A group in the cpu hierarchy, and at the same path in cpuacct.
#[derive(Debug)]
pub struct RealGroup {
    path: String,
    directories: Vec<PathBuf>,
    children: Vec<Child>,
}

impl RealGroup {
    /// A top group of its own with the hierarchies of `cpu` and `cpuacct`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self::make(&format!("/{}", unique(name)), &["cpu", "cpuacct"])
    }

    /// The same in the cpu hierarchy alone: use can then be seen from the threads only.
    #[must_use]
    pub fn without_cpuacct(name: &str) -> Self {
        Self::make(&format!("/{}", unique(name)), &["cpu"])
    }

    /// A group below this one.
    #[must_use]
    pub fn below(&self, name: &str) -> Self {
        Self::make(&format!("{}/{name}", self.path), &["cpu", "cpuacct"])
    }

    fn make(path: &str, controllers: &[&str]) -> Self {
        let mut directories: Vec<PathBuf> = Vec::new();
        for controller in controllers {
            let mounts = hierarchies::mounted();
            let mount = mounts.iter().find(|mount| mount.has(controller));
            let mount = must(mount.ok_or("not mounted"), controller);
            let directory = mount.point.join(path.trim_start_matches('/'));
            if !directories.contains(&directory) {
                must(fs::create_dir(&directory), &directory.display());
                directories.push(directory);
            }
        }
        let group = Self { path: path.to_owned(), directories, children: Vec::new() };
        // Tests share machines with other work, which must not decide whether a quota runs out.
        group.write("cpu.shares", "100000");
        group
    }

    /// Hierarchy path.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Its directory in the cpu hierarchy.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directories[0]
    }

    /// Writes a file of the cpu hierarchy.
    pub fn write(&self, file: &str, text: &str) -> &Self {
        let path = self.directory().join(file);
        must(fs::write(&path, text), &path.display());
        self
    }

    /// Gives it a quota, us per 100 ms.
    pub fn quota(&self, quota_us: u64) -> &Self {
        self.write("cpu.cfs_quota_us", &quota_us.to_string())
    }

    /// The numbers of cpu.stat now, and cpuacct.usage as `usage`.
    #[must_use]
    pub fn counters(&self) -> BTreeMap<String, i64> {
        let stat = self.directory().join("cpu.stat");
        let text = must(fs::read_to_string(&stat), &stat.display());
        let words = |line: &str| {
            let (key, value) = line.split_once(' ')?;
            Some((key.to_owned(), value.trim().parse().ok()?))
        };
        let mut counters: BTreeMap<String, i64> = text.lines().filter_map(words).collect();
        for directory in &self.directories {
            if let Ok(usage) = fs::read_to_string(directory.join("cpuacct.usage")) {
                counters.insert("usage".to_owned(), must(usage.trim().parse(), &"cpuacct.usage"));
            }
        }
        counters
    }

    /// A command that is inside the group before it runs its program.
    #[must_use]
    pub fn command(&self, program: &[&str]) -> Command {
        let mut command = Command::new("sh");
        let script = "while [ \"$1\" != -- ]; do echo $$ >\"$1/cgroup.procs\"; shift; done; \
                      shift; exec \"$@\"";
        command.args(["-c", script, "sh"]).args(&self.directories).arg("--").args(program);
        command
    }

    /// Starts `count` processes that each use a CPU until they are ended.
    pub fn spin(&mut self, count: usize) {
        for _ in 0..count {
            let loop_for_ever =
                ["timeout", "-s", "KILL", LONGEST, "sh", "-c", "while :; do :; done"];
            let mut command = self.command(&loop_for_ever);
            let child = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn();
            self.children.push(must(child, &"cannot start a process"));
        }
        let started = Instant::now();
        while self.pids().len() < 2 * count {
            assert!(started.elapsed() < Duration::from_secs(10), "the processes did not start");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Processes inside.
    #[must_use]
    pub fn pids(&self) -> Vec<u32> {
        let text = fs::read_to_string(self.directory().join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Ends everything inside, and waits until nothing is.
    pub fn end(&mut self) {
        let started = Instant::now();
        loop {
            let pids = self.pids();
            for pid in &pids {
                let pid = i32::try_from(*pid).ok().and_then(rustix::process::Pid::from_raw);
                if let Some(pid) = pid {
                    let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
                }
            }
            for child in &mut self.children {
                let _ = child.try_wait();
            }
            if pids.is_empty() || started.elapsed() > Duration::from_secs(10) {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        for mut child in self.children.drain(..) {
            let _ = child.wait();
        }
    }

    /// Ends everything inside and removes the group.
    pub fn remove(&mut self) {
        self.end();
        let started = Instant::now();
        for directory in &self.directories {
            // Busy for a moment after its last process.
            while directory.is_dir()
                && fs::remove_dir(directory).is_err()
                && started.elapsed() < Duration::from_secs(10)
            {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    /// Makes it anew after [`RealGroup::remove`].
    pub fn make_again(&self) {
        for directory in &self.directories {
            must(fs::create_dir(directory), &directory.display());
        }
        self.write("cpu.shares", "100000");
    }
}

impl Drop for RealGroup {
    fn drop(&mut self) {
        self.remove();
    }
}

fn unique(name: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    format!("unthrottle-test-{name}-{}-{count}", std::process::id())
}

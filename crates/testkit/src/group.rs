//! What a group of a [`FakeTree`](crate::FakeTree) says, and how each version writes it.

/// The contents of one group. A new one is unlimited, idle and empty, as the kernel makes it.
#[derive(Debug, Clone, Default)]
pub struct Group {
    quota: Option<(u64, u64)>,
    burst_us: u64,
    nr_periods: u64,
    nr_throttled: u64,
    throttled_ns: u64,
    nr_bursts: u64,
    burst_ns: u64,
    usage_ns: u64,
    shares: Option<u64>,
    procs: Vec<u32>,
    threads: Vec<u32>,
    cpus: String,
    files: Vec<(String, String)>,
}

/// A file of a group: the controller whose directory holds it on v1, its name, its text.
pub(crate) type GroupFile = (&'static str, String, String);

impl Group {
    /// Sets a quota in a period, us.
    #[must_use]
    pub fn quota(mut self, quota_us: u64, period_us: u64) -> Self {
        self.quota = Some((quota_us, period_us));
        self
    }

    /// Takes the quota away.
    #[must_use]
    pub fn unlimited(mut self) -> Self {
        self.quota = None;
        self
    }

    /// Sets the burst, us.
    #[must_use]
    pub fn burst_us(mut self, burst_us: u64) -> Self {
        self.burst_us = burst_us;
        self
    }

    /// Sets the counters of `cpu.stat`; the time in ns, as v1 writes it.
    #[must_use]
    pub fn stat(mut self, nr_periods: u64, nr_throttled: u64, throttled_ns: u64) -> Self {
        (self.nr_periods, self.nr_throttled, self.throttled_ns) =
            (nr_periods, nr_throttled, throttled_ns);
        self
    }

    /// Sets the counters of bursts; the time in ns, as v1 writes it.
    #[must_use]
    pub fn bursts(mut self, nr_bursts: u64, burst_ns: u64) -> Self {
        (self.nr_bursts, self.burst_ns) = (nr_bursts, burst_ns);
        self
    }

    /// Sets the CPU time used, ns: `cpuacct.usage`, or `usage_usec` on v2.
    #[must_use]
    pub fn usage_ns(mut self, usage_ns: u64) -> Self {
        self.usage_ns = usage_ns;
        self
    }

    /// Sets the weight in v1's shares (1024 is the usual one); v2 gets what it corresponds to.
    #[must_use]
    pub fn shares(mut self, shares: u64) -> Self {
        self.shares = Some(shares);
        self
    }

    /// Sets the processes; their main threads are the threads, unless [`Group::threads`] says more.
    #[must_use]
    pub fn procs(mut self, pids: &[u32]) -> Self {
        self.procs = pids.to_vec();
        self
    }

    /// Sets the threads.
    #[must_use]
    pub fn threads(mut self, tids: &[u32]) -> Self {
        self.threads = tids.to_vec();
        self
    }

    /// Sets the cpuset, as a list (`0-1,4`).
    #[must_use]
    pub fn cpuset(mut self, cpus: &str) -> Self {
        cpus.clone_into(&mut self.cpus);
        self
    }

    /// Sets one file as it is; it wins over what the other methods write. On v1 it goes to the
    /// directory of the controller that its name begins with, else to that of `cpu`.
    #[must_use]
    pub fn file(mut self, name: &str, text: &str) -> Self {
        self.files.retain(|(known, _)| known != name);
        self.files.push((name.to_owned(), text.to_owned()));
        self
    }

    /// The files as cgroup v1 writes them.
    pub(crate) fn v1_files(&self, cpus_above: &str) -> Vec<GroupFile> {
        let (quota, period) = self
            .quota
            .map_or(("-1".to_owned(), 100_000), |(quota, period)| (quota.to_string(), period));
        let Self { nr_periods, nr_throttled, throttled_ns, nr_bursts, burst_ns, .. } = self;
        let stat = format!(
            "nr_periods {nr_periods}\nnr_throttled {nr_throttled}\nthrottled_time {throttled_ns}\n\
             nr_bursts {nr_bursts}\nburst_time {burst_ns}\n"
        );
        let mut files = vec![
            ("cpu", "cpu.cfs_quota_us".to_owned(), format!("{quota}\n")),
            ("cpu", "cpu.cfs_period_us".to_owned(), format!("{period}\n")),
            ("cpu", "cpu.cfs_burst_us".to_owned(), format!("{}\n", self.burst_us)),
            ("cpu", "cpu.stat".to_owned(), stat),
            ("cpu", "cpu.shares".to_owned(), format!("{}\n", self.shares.unwrap_or(1024))),
            ("cpuacct", "cpuacct.usage".to_owned(), format!("{}\n", self.usage_ns)),
            ("cpuset", "cpuset.cpus".to_owned(), format!("{}\n", self.cpus)),
            ("cpuset", "cpuset.effective_cpus".to_owned(), self.effective(cpus_above)),
        ];
        for controller in ["cpu", "cpuacct", "cpuset"] {
            files.push((controller, "cgroup.procs".to_owned(), lines(&self.procs)));
            files.push((controller, "tasks".to_owned(), lines(self.all_threads())));
        }
        self.replace(files, |name| match name.split('.').next() {
            Some("cpuacct") => "cpuacct",
            Some("cpuset") => "cpuset",
            _ => "cpu",
        })
    }

    /// The files as cgroup v2 writes them; the root group has no limit and no weight.
    pub(crate) fn v2_files(&self, is_root: bool, cpus_above: &str) -> Vec<GroupFile> {
        let usage = self.usage_ns / 1000;
        let mut stat = format!("usage_usec {usage}\nuser_usec {usage}\nsystem_usec 0\n");
        let mut files = vec![
            ("", "cgroup.procs".to_owned(), lines(&self.procs)),
            ("", "cgroup.threads".to_owned(), lines(self.all_threads())),
            ("", "cgroup.controllers".to_owned(), "cpuset cpu io memory pids\n".to_owned()),
            ("", "cgroup.subtree_control".to_owned(), "cpuset cpu io memory pids\n".to_owned()),
            ("", "cpuset.cpus.effective".to_owned(), self.effective(cpus_above)),
        ];
        if !is_root {
            let (quota, period) = self
                .quota
                .map_or(("max".to_owned(), 100_000), |(quota, period)| (quota.to_string(), period));
            stat.push_str(&format!(
                "nr_periods {}\nnr_throttled {}\nthrottled_usec {}\nnr_bursts {}\nburst_usec {}\n",
                self.nr_periods,
                self.nr_throttled,
                self.throttled_ns / 1000,
                self.nr_bursts,
                self.burst_ns / 1000
            ));
            // The kernel's conversion before 6.19: shares 2..262144 to weight 1..10000.
            let shares = self.shares.unwrap_or(1024).clamp(2, 262_144);
            let weight = (shares * 100 + 512) / 1024;
            files.extend([
                ("", "cgroup.type".to_owned(), "domain\n".to_owned()),
                ("", "cpu.max".to_owned(), format!("{quota} {period}\n")),
                ("", "cpu.max.burst".to_owned(), format!("{}\n", self.burst_us)),
                ("", "cpu.weight".to_owned(), format!("{}\n", weight.clamp(1, 10_000))),
                ("", "cpuset.cpus".to_owned(), format!("{}\n", self.cpus)),
            ]);
        }
        files.push(("", "cpu.stat".to_owned(), stat));
        self.replace(files, |_| "")
    }

    pub(crate) fn cpus(&self) -> &str {
        &self.cpus
    }

    fn effective(&self, cpus_above: &str) -> String {
        format!("{}\n", if self.cpus.is_empty() { cpus_above } else { &self.cpus })
    }

    fn all_threads(&self) -> &[u32] {
        if self.threads.is_empty() { &self.procs } else { &self.threads }
    }

    /// `files` with those that were set as they are in place of the generated ones.
    fn replace(
        &self,
        mut files: Vec<GroupFile>,
        controller: impl Fn(&str) -> &'static str,
    ) -> Vec<GroupFile> {
        for (name, text) in &self.files {
            let mut known = false;
            for file in files.iter_mut().filter(|file| file.1 == *name) {
                file.2.clone_from(text);
                known = true;
            }
            if !known {
                files.push((controller(name), name.clone(), text.clone()));
            }
        }
        files
    }
}

fn lines(numbers: &[u32]) -> String {
    numbers.iter().map(|number| format!("{number}\n")).collect()
}

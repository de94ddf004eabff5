//! Watching a target: a thread reads, a `Batch` of rows comes out each second.
//!
//! The thread ends when the time is over, when it is asked to stop, or when the target is gone; it
//! always reads once more before it ends, so that a window has two ends.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use unthrottle_model::recording::Meta;
use unthrottle_model::rows::{Batch, ClockRow, GroupRow, LossRow};

use crate::below::Below;
use crate::cgroup::{Chain, Cpuset};
use crate::clock::{Stop, monotonic_ns, realtime_ns};
use crate::error::SourceError;
use crate::host;
use crate::mounts::CgroupFs;
use crate::target::Resolved;
use crate::threads::Threads;

/// Batches that may wait for a slow consumer before the reader waits too.
const QUEUE: usize = 64;

/// How to watch.
#[derive(Debug, Clone)]
pub struct WatchOptions {
    /// How long, ns.
    pub for_ns: i64,
    /// Time between two readings, ns.
    pub interval_ns: i64,
}

/// A running watch. Dropping it ends the thread.
#[derive(Debug)]
pub struct Watch {
    batches: Receiver<Batch>,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// Opens the target's files and starts to read. The first reading is made before this returns,
    /// so whatever begins afterwards is inside the window.
    ///
    /// # Errors
    /// If the target's files cannot be opened.
    pub fn start(
        fs: &CgroupFs,
        target: &Resolved,
        options: &WatchOptions,
        stop: &Stop,
    ) -> Result<(Meta, Self), SourceError> {
        let host = host::facts(&fs.root);
        let mut reader = Reader::open(fs, target)?;
        let mut facts = target.facts.clone();
        facts.group = reader.chain.target_key();
        let mut first = Batch {
            groups: reader.group_rows(),
            losses: std::mem::take(&mut reader.losses),
            ..Batch::default()
        };
        let begin_ns = monotonic_ns();
        reader.read(&mut first);
        let (sender, batches) = sync_channel(QUEUE);
        // A queue that nobody has read from yet cannot be full or closed.
        let _ = sender.send(first);
        let (options, own_stop, asked) = (options.clone(), Stop::default(), stop.clone());
        let ended = own_stop.clone();
        let thread = std::thread::Builder::new()
            .name("watch".to_owned())
            .spawn(move || run(reader, begin_ns, &options, [&asked, &ended], &sender))
            .map_err(|source| SourceError::Read { path: "/proc/self/task".into(), source })?;
        let meta = Meta { host, target: facts };
        Ok((meta, Self { batches, stop: own_stop, thread: Some(thread) }))
    }

    /// The next batch, or `None` when the watch is over.
    #[must_use]
    pub fn next_batch(&self) -> Option<Batch> {
        self.batches.recv().ok()
    }

    /// Ends the watch with one last reading when requested, from any thread.
    /// [`Watch::next_batch`] still yields what is left.
    #[must_use]
    pub fn ender(&self) -> Stop {
        self.stop.clone()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop.request();
        // Let a sender that waits for room go on.
        while self.batches.recv().is_ok() {}
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(
    mut reader: Reader,
    begin_ns: i64,
    options: &WatchOptions,
    stops: [&Stop; 2],
    sender: &SyncSender<Batch>,
) {
    let end_ns = begin_ns + options.for_ns;
    let mut due_ns = begin_ns;
    loop {
        due_ns = (due_ns + options.interval_ns).min(end_ns);
        let stopped = wait(due_ns, stops);
        let mut batch = Batch::default();
        reader.read(&mut batch);
        let over = stopped || due_ns >= end_ns || !reader.chain.target_alive();
        if sender.send(batch).is_err() || over {
            return;
        }
        // After a long pause of the whole machine the readings that are past are left out.
        let behind = (monotonic_ns() - due_ns) / options.interval_ns;
        due_ns += behind.max(0) * options.interval_ns;
    }
}

fn wait(due_ns: i64, stops: [&Stop; 2]) -> bool {
    loop {
        if stops.iter().any(|stop| stop.requested()) {
            return true;
        }
        let left = due_ns - monotonic_ns();
        if left <= 0 {
            return false;
        }
        std::thread::sleep(Duration::from_nanos(left.unsigned_abs()).min(Stop::LOOK_EVERY));
    }
}

struct Reader {
    fs: CgroupFs,
    chain: Chain,
    below: Below,
    cpuset: Option<Cpuset>,
    threads: Threads,
    losses: Vec<LossRow>,
}

impl Reader {
    fn open(fs: &CgroupFs, target: &Resolved) -> Result<Self, SourceError> {
        let chain = Chain::open(fs, &target.located)?;
        let dir = &target.located.dir;
        let cpuset = Cpuset::open(fs, &target.facts.path, dir);
        let mut losses = Vec::new();
        let mut loss = |field: &str, reason: String, hint: &str| {
            losses.push(LossRow { field: field.to_owned(), reason, hint: hint.to_owned() });
        };
        if cpuset.is_none() {
            loss("effective", "the target's cpuset could not be read".to_owned(), "");
        }
        if target.facts.levels_hidden {
            loss(
                "limits",
                format!(
                    "levels above `{}` are not visible from this cgroup namespace or container: a \
                     limit there would not be seen",
                    target.facts.mount_root
                ),
                "run on the host, or mount the host's /proc and /sys and use `--root DIR`",
            );
        }
        let below = Below::open(fs, target, chain.target_key());
        if below.left_out > 0 {
            loss(
                "findings.limited_below",
                format!(
                    "{} more groups below the target have limits and are not read",
                    below.left_out
                ),
                "name one of them as the target",
            );
        }
        let threads = Threads::new(&fs.root, dir);
        Ok(Self { fs: fs.clone(), chain, below, cpuset, threads, losses })
    }

    fn group_rows(&self) -> Vec<GroupRow> {
        let mut rows = self.chain.group_rows();
        rows.extend(self.below.group_rows(&self.fs));
        rows
    }

    fn read(&mut self, batch: &mut Batch) {
        batch.clock.push(ClockRow { monotonic_ns: monotonic_ns(), realtime_ns: realtime_ns() });
        self.chain.read(batch);
        self.below.read(batch);
        if self.chain.target_alive() {
            batch.threads.push(self.threads.read());
            batch.cpusets.extend(self.cpuset.as_mut().and_then(Cpuset::read));
        }
        batch.host.extend(host::row(&self.fs.root));
    }
}

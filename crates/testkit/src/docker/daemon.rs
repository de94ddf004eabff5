//! The daemon's process: started by path, in mounts of its own, and never outliving the test.

use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, TryRecvError};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change};
use rustix::process::{Pid, Signal, kill_process, set_parent_process_death_signal};
use rustix::thread::{UnshareFlags, unshare_unsafe};

use crate::must;

/// How long a daemon may take to stop its containers and end; after that it is killed.
const END: Duration = Duration::from_secs(30);

/// A running daemon.
#[derive(Debug)]
pub(super) struct Daemon {
    pid: Pid,
    log: PathBuf,
    /// Hears once, when the process has ended.
    end: Mutex<Receiver<()>>,
}

pub(super) fn socket(directory: &Path) -> PathBuf {
    directory.join("docker.sock")
}

pub(super) fn pid_file(directory: &Path) -> PathBuf {
    directory.join("docker.pid")
}

impl Daemon {
    /// Starts `dockerd` with everything it writes below `directory`.
    pub(super) fn start(dockerd: &Path, directory: &Path, cgroup_parent: &str) -> Self {
        let log = directory.join("docker.log");
        let command = command(dockerd, directory, cgroup_parent, &log);
        // The kernel sends the death signal when the *thread* that started the child ends, and a
        // test's thread may end before its engine. So a thread of its own starts it and waits.
        let (started, start) = mpsc::channel();
        let (ended, end) = mpsc::channel();
        std::thread::spawn(move || keep(command, &started, &ended));
        let child = must(start.recv(), &"the thread that keeps the daemon");
        let pid = must(child, &dockerd.display());
        let pid = must(i32::try_from(pid), &"pid");
        let pid = Pid::from_raw(pid).unwrap_or(Pid::INIT);
        Self { pid, log, end: Mutex::new(end) }
    }

    /// Whether the process has ended by itself.
    pub(super) fn ended(&self) -> bool {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        !matches!(end.try_recv(), Err(TryRecvError::Empty))
    }

    /// The last lines of its log.
    pub(super) fn said(&self) -> String {
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    /// Asks it to end and waits; kills it when that takes too long.
    pub(super) fn stop(&self) {
        let end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        for (signal, patience) in [(Signal::TERM, END), (Signal::KILL, END)] {
            // Once it has ended it is reaped, and the number may be somebody else's.
            if !matches!(end.try_recv(), Err(TryRecvError::Empty)) {
                return;
            }
            let _ = kill_process(self.pid, signal);
            if !matches!(end.recv_timeout(patience), Err(RecvTimeoutError::Timeout)) {
                return;
            }
        }
    }
}

/// Starts the child and waits for its end, saying both.
fn keep(
    mut command: Command,
    started: &mpsc::Sender<std::io::Result<u32>>,
    ended: &mpsc::Sender<()>,
) {
    let child = command.spawn();
    let pid = child.as_ref().map(Child::id);
    // Nobody listens any more only if the test has ended, and then nobody needs to know.
    let _ = started.send(pid.map_err(|error| std::io::Error::new(error.kind(), error.to_string())));
    if let Ok(mut child) = child {
        let _ = child.wait();
    }
    let _ = ended.send(());
}

fn command(dockerd: &Path, directory: &Path, cgroup_parent: &str, log: &Path) -> Command {
    let mut command = Command::new(dockerd);
    let path = |name: &str| directory.join(name);
    command.arg("--host").arg(format!("unix://{}", socket(directory).display()));
    command.arg("--config-file").arg(path("daemon.json"));
    command.arg("--data-root").arg(path("data"));
    command.arg("--exec-root").arg(path("run"));
    command.arg("--pidfile").arg(pid_file(directory));
    command.args(["--cgroup-parent", cgroup_parent, "--exec-opt", "native.cgroupdriver=cgroupfs"]);
    // Copies of an image that holds nothing cost nothing, and this driver works on any disk.
    command.args(["--storage-driver", "vfs", "--bridge", "none"]);
    command.args([
        "--iptables=false",
        "--ip6tables=false",
        "--ip-forward=false",
        "--ip-masq=false",
    ]);
    command.args(["--userland-proxy=false", "--log-level", "warn"]);
    // containerd and runc stand beside it; /usr/sbin is not in every PATH.
    let usual = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{usual}:/usr/sbin:/usr/bin:/sbin:/bin"));
    must(std::fs::write(path("daemon.json"), "{}"), &"daemon.json");
    let log = must(std::fs::File::create(log), &log.display());
    let both = must(log.try_clone(), &"the daemon's log");
    command.stdin(std::process::Stdio::null()).stdout(log).stderr(both);
    // Ctrl-C is for the test, which then ends the daemon in its own way.
    command.process_group(0);
    let parent = rustix::process::getpid();
    // SAFETY: between fork and exec `isolate` makes system calls only; it allocates nothing and
    // takes no lock.
    unsafe {
        command.pre_exec(move || isolate(parent));
    }
    command
}

/// Runs in the child: dies with `parent`, and has mounts and a /run of its own.
///
/// An empty /run hides the machine's containerd, which the daemon would use if it saw it, and keeps
/// the sockets of containerd's shims apart. The mounts of the containers vanish with the process.
fn isolate(parent: Pid) -> std::io::Result<()> {
    // TERM, not KILL: the daemon stops its containers and its containerd before it ends.
    set_parent_process_death_signal(Some(Signal::TERM))?;
    if rustix::process::getppid() != Some(parent) {
        return Err(std::io::ErrorKind::BrokenPipe.into());
    }
    // SAFETY: a mount namespace is this process's own; no other thread exists after fork.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    mount_change(c"/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
    mount(c"tmpfs", c"/run", c"tmpfs", MountFlags::NOSUID | MountFlags::NODEV, c"mode=755")?;
    Ok(())
}

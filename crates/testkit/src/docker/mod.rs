//! A real Docker Engine of a test's own, and containers in it.
//!
//! It shares nothing with an engine of the machine: its own daemon and containerd, data, socket and
//! cgroup parent, no bridge, no firewall rules, no registry. Dropping it removes all of that. If the
//! test process is killed the daemon still stops its containers and ends, and what stays behind on
//! disk and in the cgroup file system is removed by the next engine that starts.

mod daemon;
mod image;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::{hierarchies, must};
use daemon::Daemon;

/// Begins the names of all directories and groups that an engine makes.
const PREFIX: &str = "unthrottle-docker-";

/// The daemon imports nothing and waits for nothing, but this may be a busy machine.
const START: Duration = Duration::from_secs(90);

/// The programs of an engine.
#[derive(Debug, Clone)]
pub struct Programs {
    dockerd: PathBuf,
    client: PathBuf,
}

/// Finds the daemon and the client.
///
/// # Errors
/// Which is missing, and how to get it.
pub fn programs() -> Result<Programs, String> {
    let find = |name: &str| {
        // Daemons live in /usr/sbin, which not every PATH has.
        let path = std::env::var_os("PATH").unwrap_or_default();
        let places = std::env::split_paths(&path).collect::<Vec<_>>();
        let usual = ["/usr/sbin", "/usr/bin", "/usr/local/bin"].map(PathBuf::from);
        places.into_iter().chain(usual).map(|place| place.join(name)).find(|file| file.is_file())
    };
    let need =
        |name: &str| find(name).ok_or_else(|| format!("needs `{name}`: run `scripts/setup test`"));
    Ok(Programs { dockerd: need("dockerd")?, client: need("docker")? })
}

/// A running engine.
#[derive(Debug)]
pub struct Engine {
    // Before the directory, as the daemon must end before its files go.
    daemon: Daemon,
    directory: TempDir,
    client: PathBuf,
    parent: String,
}

/// A running container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container {
    /// 64 hexadecimal digits.
    pub id: String,
    /// Its first process, as the host numbers it.
    pub pid: u32,
}

impl Engine {
    /// Starts an engine and gives it the one image there is; needs
    /// [`gate::dockerd`](crate::gate::dockerd). Takes about two seconds.
    ///
    /// # Panics
    /// With the daemon's own words, if it does not come up.
    #[must_use]
    pub fn start() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let programs = must(programs(), &"cannot start a Docker Engine");
        sweep();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("{PREFIX}{}-{number}", std::process::id());
        // A short path, as a socket's is limited to 107 bytes; on disk, as a tmpfs may be small.
        let place = Path::new("/var/tmp");
        let place = if place.is_dir() { place.to_owned() } else { std::env::temp_dir() };
        let directory = tempfile::Builder::new().prefix(&format!("{name}-")).tempdir_in(place);
        let directory = must(directory, &"cannot make the engine's directory");
        let parent = format!("/{name}");
        let daemon = Daemon::start(&programs.dockerd, directory.path(), &parent);
        let engine = Self { daemon, directory, client: programs.client, parent };
        engine.wait_until_up();
        image::import(&engine, engine.directory.path());
        engine
    }

    fn wait_until_up(&self) {
        let started = Instant::now();
        while !self.client(&["version"]).output().is_ok_and(|output| output.status.success()) {
            let ended = self.daemon.ended();
            assert!(
                !ended && started.elapsed() < START,
                "the Docker daemon {}; it said:\n{}",
                if ended { "ended" } else { "did not come up in 90 s" },
                self.daemon.said()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// The engine's socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        daemon::socket(self.directory.path())
    }

    /// What `DOCKER_HOST` must say for a client of this engine.
    #[must_use]
    pub fn host(&self) -> String {
        format!("unix://{}", self.socket().display())
    }

    /// The cgroup path of a container, in every hierarchy.
    #[must_use]
    pub fn cgroup(&self, container: &Container) -> String {
        format!("{}/{}", self.parent, container.id)
    }

    /// Starts a container with these options of `docker run` and this command.
    ///
    /// The image is empty; the host's programs and libraries are mounted into it, read-only, so that
    /// `sh` and any dynamic binary run. For a binary from elsewhere add `-v DIR:DIR:ro`.
    #[must_use]
    pub fn run(&self, options: &[&str], command: &[&str]) -> Container {
        // A daemon that is told to end asks its containers first and waits; `sleep` would not listen.
        let mut run = self.client(&["run", "--detach", "--stop-signal=KILL"]);
        run.args(image::mounts()).args(options).arg(image::NAME).args(command);
        let id = stdout(&mut run);
        let pid = stdout(&mut self.client(&["inspect", "--format", "{{.State.Pid}}", &id]));
        let pid = must(pid.parse(), &format_args!("the pid of {id} is `{pid}`"));
        assert!(pid > 0, "container {id} ended at once: {}", self.logs(&id));
        Container { id, pid }
    }

    /// What the container has printed so far, both streams.
    #[must_use]
    pub fn logs(&self, id: &str) -> String {
        let output = must(self.client(&["logs", id]).output(), &"cannot start docker");
        String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
    }

    /// Runs a command inside a container to its end.
    #[must_use]
    pub fn exec(&self, container: &Container, command: &[&str]) -> Output {
        let mut exec = self.client(&["exec", &container.id]);
        must(exec.args(command).output(), &"cannot start docker")
    }

    /// Kills and removes a container; its group is gone when this returns.
    pub fn rm(&self, container: &Container) {
        stdout(&mut self.client(&["rm", "--force", &container.id]));
    }

    /// A command of the Docker client for this engine.
    #[must_use]
    pub fn client(&self, arguments: &[&str]) -> Command {
        let mut client = Command::new(&self.client);
        // The user's contexts and log-ins are none of a test's business.
        client
            .args(arguments)
            .env("DOCKER_HOST", self.host())
            .env("DOCKER_CONFIG", self.directory.path().join("config"))
            .env_remove("DOCKER_CONTEXT");
        client
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // The daemon kills its containers as it ends; asking for it first removes their groups.
        let ids = self.client(&["ps", "--all", "--quiet", "--no-trunc"]).output();
        let ids = ids.map(|output| output.stdout).unwrap_or_default();
        let ids = String::from_utf8_lossy(&ids).into_owned();
        let ids: Vec<&str> = ids.lines().collect();
        if !ids.is_empty() {
            let _ = self.client(&["rm", "--force"]).args(ids).output();
        }
        self.daemon.stop();
        remove_groups(self.parent.trim_start_matches('/'));
    }
}

/// What a command printed, without its last line break; a failed test if it fails.
fn stdout(command: &mut Command) -> String {
    let output = must(command.output(), &"cannot start docker");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed: {}", said.trim());
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Removes a top group in every hierarchy. A group stays busy for a moment after its last process.
fn remove_groups(name: &str) {
    let started = Instant::now();
    for hierarchy in hierarchies::mounted() {
        let directory = hierarchy.point.join(name);
        while hierarchies::remove_groups(&directory).is_err() {
            if started.elapsed() > Duration::from_secs(5) {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Removes what engines of processes that are gone have left behind.
fn sweep() {
    let left = |directory: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .filter(|name| owner(name).is_some_and(|pid| !is_alive(pid)))
            .collect()
    };
    let places = [PathBuf::from("/var/tmp"), std::env::temp_dir()];
    for place in places {
        for name in left(&place) {
            let directory = place.join(name);
            // Its daemon may be on its way out still; then the next one sweeps.
            let daemon = std::fs::read_to_string(daemon::pid_file(&directory)).unwrap_or_default();
            if !daemon.trim().parse().is_ok_and(is_alive) {
                let _ = std::fs::remove_dir_all(directory);
            }
        }
    }
    for hierarchy in hierarchies::mounted() {
        for name in left(&hierarchy.point) {
            let _ = hierarchies::remove_groups(&hierarchy.point.join(name));
        }
    }
}

/// The process that made a directory or group of this name.
fn owner(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split('-').next()?.parse().ok()
}

fn is_alive(pid: u32) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

#[cfg(test)]
mod tests;

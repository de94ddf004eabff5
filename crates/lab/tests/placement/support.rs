//! Shared by these tests.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use unthrottle_lab::placement::name::{GroupName, Owner, pid_namespace};
use unthrottle_lab::placement::{GroupSpec, Guard, Place, Process, Weight, roots};
use unthrottle_model::{Explained, Quota};

/// Set for a copy of this binary that acts as another process; says what it should do.
pub(crate) const ROLE: &str = "UNTHROTTLE_PLACEMENT_ROLE";
/// The test that is no test: what such a copy runs.
pub(crate) const HELPER: &str = "support::helper_process";
/// For what should happen at once, on a machine that may be busy.
pub(crate) const SOON: Duration = Duration::from_secs(5);

pub(crate) fn quota(quota_us: u64, period_us: u64, burst_us: u64) -> Quota {
    Quota { quota_us, period_us, burst_us }
}

pub(crate) fn spec(limit: Option<Quota>) -> GroupSpec {
    GroupSpec { limit, weight: Weight::Default }
}

pub(crate) fn half() -> GroupSpec {
    spec(Some(quota(50_000, 100_000, 0)))
}

pub(crate) fn place() -> Place {
    Place::current().expect("this machine has a cpu controller")
}

pub(crate) fn guard() -> Guard {
    Guard::create(&place(), &half()).expect("makes a group")
}

pub(crate) fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null());
    command
}

/// Starts a script and waits for its first line.
pub(crate) fn started(guard: &mut Guard, script: &str) -> Process {
    let mut command = shell(script);
    command.stdout(Stdio::piped());
    let child = guard.spawn(command).expect("starts");
    let mut line = String::new();
    BufReader::new(child.take_stdout().expect("piped")).read_line(&mut line).expect("reads");
    child
}

pub(crate) fn read(dir: &Path, file: &str) -> String {
    std::fs::read_to_string(dir.join(file)).expect("reads").trim().to_owned()
}

/// Groups of ours in every hierarchy, but for those of other tests that run just now.
pub(crate) fn ours() -> BTreeSet<PathBuf> {
    let pid_ns = pid_namespace().expect("reads /proc");
    let parents = roots().expect("there is a mount");
    let entries = parents.iter().flat_map(|dir| std::fs::read_dir(dir).expect("reads"));
    entries
        .map(|entry| entry.expect("reads").path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            GroupName::parse(&name).is_some_and(|name| {
                name.pid == std::process::id() || name.owner(pid_ns) == Owner::Gone
            })
        })
        .collect()
}

pub(crate) fn alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|text| !text.contains(") Z "))
}

#[track_caller]
pub(crate) fn within(patience: Duration, what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < patience, "{what}: not within {patience:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// A copy of this binary in the role of another process.
pub(crate) fn helper(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", HELPER, "--nocapture"]).env(ROLE, role);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// What the copies do. Their lines for the test begin with `>`.
#[test]
fn helper_process() {
    match std::env::var(ROLE).as_deref() {
        Ok("hold") => {
            let mut guard = guard();
            // The grandchild is not covered by the death of its grandparent.
            let child = guard.spawn(shell("sleep 1000 & exec sleep 1000")).expect("starts");
            println!(">{} {}", child.pid(), guard.dirs().cpu.display());
            std::thread::sleep(Duration::from_secs(1000));
        }
        Ok("cycle") => loop {
            println!(">");
            let mut guard = guard();
            let _child = guard.spawn(shell("sleep 1000 & exec sleep 1000")).expect("starts");
            guard.remove().expect("removes");
        },
        Ok("report") => match Guard::create(&place(), &half()) {
            Ok(guard) => println!(">made {}", guard.path()),
            Err(error) => {
                let hint = error.hint().unwrap_or_default();
                println!(">{:?}|{error}|{hint}", error.kind());
            }
        },
        Ok("unified") => crate::unified::check(),
        _ => {}
    }
}

pub(crate) fn lines_of(output: impl Read) -> impl Iterator<Item = String> {
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    // The harness begins a line without ending it.
    lines.filter_map(|line| Some(line.split_once('>')?.1.to_owned()))
}

//! The guard on a real cgroup v2 kernel.
//!
//! Not tests of the ordinary run: they need a machine whose v2 mount carries the cpu controller and
//! whose root group is theirs, which is a virtual machine. There this binary is started as root with
//! its role set to `unified` ([`crate::support::ROLE`]), and each check says `>ok`.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use unthrottle_lab::placement::{Guard, Place, Weight, clean, roots};
use unthrottle_model::rows::Hierarchy;

use crate::support::{
    SOON, alive, guard, half, helper, lines_of, ours, place, quota, read, shell, spec, started,
    within,
};

const NOBODY: u32 = 65_534;

pub(crate) fn check() {
    assert_eq!(place().hierarchy, Hierarchy::V2, "not the machine for this");
    let mount = place().mount_dir;
    for (name, run) in [
        ("root", root as fn(&Path)),
        ("scope", scope),
        ("two guards", two_guards),
        ("killed", killed),
        ("killed at any moment", killed_at_any_moment),
        ("deaf", deaf),
        ("user", user),
        ("controller missing", controller_missing),
        ("threaded", threaded),
    ] {
        let before = read(&mount, "cgroup.subtree_control");
        run(&mount);
        assert_eq!(ours().len(), 0, "{name}");
        assert_eq!(read(&mount, "cgroup.subtree_control"), before, "{name}");
        println!(">ok {name}");
    }
}

fn write(dir: &Path, file: &str, value: &str) {
    std::fs::write(dir.join(file), value).expect("writes");
}

fn procs(dir: &Path) -> Vec<u32> {
    let mut pids: Vec<u32> =
        read(dir, "cgroup.procs").lines().map(|line| line.parse().expect("a pid")).collect();
    pids.sort_unstable();
    pids
}

/// A group like a delegated scope, with this process and a bystander inside.
struct Scope {
    dir: PathBuf,
    mount: PathBuf,
    bystander: Child,
    undo: bool,
}

impl Scope {
    fn new(mount: &Path) -> Self {
        let undo = !read(mount, "cgroup.subtree_control").contains("cpu");
        if undo {
            write(mount, "cgroup.subtree_control", "+cpu");
        }
        let dir = mount.join("test.scope");
        std::fs::create_dir(&dir).expect("makes");
        write(&dir, "cgroup.procs", "0");
        let bystander = shell("exec sleep 1000").spawn().expect("starts");
        Self { dir, mount: mount.to_owned(), bystander, undo }
    }

    /// It is as it was: both processes, no children, nothing enabled.
    #[track_caller]
    fn assert_untouched(&self) {
        let mut expected = vec![std::process::id(), self.bystander.id()];
        expected.sort_unstable();
        assert_eq!(procs(&self.dir), expected);
        assert_eq!(read(&self.dir, "cgroup.subtree_control"), "");
        let below = std::fs::read_dir(&self.dir).expect("reads");
        assert_eq!(below.filter(|e| e.as_ref().is_ok_and(|e| e.path().is_dir())).count(), 0);
        assert_eq!(place().cpu_dir, self.dir);
    }
}

impl Drop for Scope {
    fn drop(&mut self) {
        write(&self.mount, "cgroup.procs", "0");
        self.bystander.kill().expect("kills");
        self.bystander.wait().expect("waits");
        std::fs::remove_dir(&self.dir).expect("removes");
        if self.undo {
            write(&self.mount, "cgroup.subtree_control", "-cpu");
        }
    }
}

fn root(_: &Path) {
    let mut first =
        Guard::create(&place(), &spec(Some(quota(10_000, 100_000, 5_000)))).expect("makes");
    let cpu = first.dirs().cpu;
    assert_eq!(read(&cpu, "cpu.max"), "10000 100000");
    assert_eq!(read(&cpu, "cpu.max.burst"), "5000");
    let child = first.spawn(shell("while :; do :; done")).expect("starts");
    let text = std::fs::read_to_string(format!("/proc/{}/cgroup", child.pid())).expect("reads");
    assert_eq!(text.trim(), format!("0::{}", first.path()));
    within(SOON, "a stop", || !read(&cpu, "cpu.stat").contains("nr_throttled 0"));
    first.set_limit(Some(quota(4_000, 2_000, 0))).expect("takes it");
    assert_eq!(
        (read(&cpu, "cpu.max"), read(&cpu, "cpu.max.burst")),
        ("4000 2000".into(), "0".into())
    );
    first.set_limit(None).expect("takes it");
    assert_eq!(read(&cpu, "cpu.max"), "max 2000");
    first.remove().expect("removes");
    assert!(!alive(child.pid()));
}

fn scope(mount: &Path) {
    let scope = Scope::new(mount);
    let high = unthrottle_lab::placement::GroupSpec { weight: Weight::High, ..half() };
    let mut guard = Guard::create(&place(), &high).expect("makes");
    assert_eq!(guard.notes(), [""; 0]);
    let cpu = guard.dirs().cpu;
    assert_eq!(cpu.parent(), Some(scope.dir.as_path()));
    assert_eq!(read(&cpu, "cpu.weight"), "10000");
    assert_eq!(read(&cpu, "cpu.max"), "50000 100000");
    assert!(guard.path().starts_with("/test.scope/unthrottle-"), "{}", guard.path());
    assert!(procs(&scope.dir).is_empty());
    let child = guard.spawn(shell("exec sleep 1000")).expect("starts");
    assert_eq!(procs(&cpu), [child.pid()]);
    let removed = guard.remove().expect("removes");
    assert_eq!(removed.groups.len(), 2, "{removed:?}");
    scope.assert_untouched();
}

fn two_guards(mount: &Path) {
    let scope = Scope::new(mount);
    let mut first = guard();
    // A place that is found now is the leaf; both must end up beside each other.
    let mut second = guard();
    assert_eq!(first.dirs().cpu.parent(), second.dirs().cpu.parent());
    let one = first.spawn(shell("exec sleep 1000")).expect("starts");
    let two = second.spawn(shell("exec sleep 1000")).expect("starts");
    first.remove().expect("removes");
    assert!(!alive(one.pid()) && alive(two.pid()));
    assert_eq!(read(&second.dirs().cpu, "cpu.max"), "50000 100000");
    second.remove().expect("removes");
    scope.assert_untouched();

    // And from another process, which outlives ours.
    let first = guard();
    let mut other = helper("hold").spawn().expect("starts");
    lines_of(other.stdout.take().expect("piped")).next().expect("a line");
    first.remove().expect("removes");
    assert!(read(&scope.dir, "cgroup.subtree_control").contains("cpu"), "the other needs it");
    other.kill().expect("kills");
    other.wait().expect("waits");
    let report = clean(&roots().expect("a mount")).expect("cleans");
    assert_eq!((report.removed.len(), report.failed.len()), (2, 0), "{report:?}");
    scope.assert_untouched();

    std::thread::scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                for _ in 0..5 {
                    let mut guard = guard();
                    guard.spawn(shell("exec sleep 1000")).expect("starts");
                    guard.remove().expect("removes");
                }
            });
        }
    });
    scope.assert_untouched();
}

fn killed(mount: &Path) {
    let scope = Scope::new(mount);
    let mut parent = helper("hold").spawn().expect("starts");
    let line = lines_of(parent.stdout.take().expect("piped")).next().expect("a line");
    let (child, _) = line.split_once(' ').expect("two words");
    let child = child.parse().expect("a pid");
    parent.kill().expect("kills");
    parent.wait().expect("waits");
    within(SOON, "the child dies", || !alive(child));
    assert!(procs(&scope.dir).is_empty(), "still in the leaf");
    // The next start from inside the leaf.
    let next = guard();
    assert!(!next.cleaned().is_empty());
    next.remove().expect("removes");
    scope.assert_untouched();
}

fn killed_at_any_moment(mount: &Path) {
    let scope = Scope::new(mount);
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    for round in 0..15 {
        let mut parent = helper("cycle").spawn().expect("starts");
        // Kept open, or the helper would end by itself.
        let mut lines = lines_of(parent.stdout.take().expect("piped"));
        lines.next().expect("a line");
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_micros((seed >> 33) % 200_000));
        parent.kill().expect("kills");
        parent.wait().expect("waits");
        let report = clean(&roots().expect("a mount")).expect("cleans");
        assert_eq!(report.failed, [], "round {round}");
        scope.assert_untouched();
    }
}

fn deaf(mount: &Path) {
    let scope = Scope::new(mount);
    let mut guard = guard();
    let cpu = guard.dirs().cpu;
    let script = format!(
        "trap '' TERM; mkdir {0}/sub; (echo 0 > {0}/sub/cgroup.procs; sleep 1000 & wait) & \
         echo; wait",
        cpu.display()
    );
    started(&mut guard, &script);
    within(SOON, "one moves", || !procs(&cpu.join("sub")).is_empty());
    let removed = guard.remove().expect("removes");
    assert!(removed.killed >= 3, "{removed:?}");
    assert_eq!(removed.groups.len(), 3, "{removed:?}");
    scope.assert_untouched();
}

fn user(mount: &Path) {
    let scope = Scope::new(mount);
    let as_user = || {
        let this = std::env::current_exe().expect("this binary");
        let mut command = Command::new(this);
        let inner = helper("report");
        command.args(inner.get_args()).env(crate::support::ROLE, "report");
        command.uid(NOBODY).gid(NOBODY);
        let output = command.output().expect("runs");
        lines_of(output.stdout.as_slice()).next().expect("a line")
    };
    let refused = as_user();
    assert!(refused.starts_with("Machine|cannot make a quota group: below `/"), "{refused}");
    assert!(refused.contains("Permission denied"), "{refused}");
    assert!(refused.contains("`systemd-run --user --scope -p Delegate=yes"), "{refused}");

    // What systemd does for `Delegate=yes`.
    for file in ["", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"] {
        chown(scope.dir.join(file), Some(NOBODY), Some(NOBODY)).expect("gives away");
    }
    let made = as_user();
    assert!(made.starts_with("made /test.scope/unthrottle-"), "{made}");
    scope.assert_untouched();
}

fn controller_missing(mount: &Path) {
    // Made while nothing is handed down.
    let off = mount.join("off.scope");
    let enabled = read(mount, "cgroup.subtree_control").contains("cpu");
    if enabled {
        write(mount, "cgroup.subtree_control", "-cpu");
    }
    std::fs::create_dir(&off).expect("makes");
    write(&off, "cgroup.procs", "0");
    let made = guard();
    assert_eq!(made.dirs().cpu.parent(), Some(mount), "the next best place");
    made.remove().expect("removes");
    assert!(!read(mount, "cgroup.subtree_control").contains("cpu"), "put back");
    write(mount, "cgroup.procs", "0");
    std::fs::remove_dir(&off).expect("removes");
    if enabled {
        write(mount, "cgroup.subtree_control", "+cpu");
    }
}

fn threaded(mount: &Path) {
    let scope = Scope::new(mount);
    let inner = scope.dir.join("threads");
    std::fs::create_dir(&inner).expect("makes");
    write(&inner, "cgroup.type", "threaded");
    // The scope is a thread root now, so its children would be invalid or threaded.
    let made = Guard::create(&Place::current().expect("reads"), &half()).expect("makes");
    assert_eq!(made.dirs().cpu.parent(), Some(mount), "the next best place");
    made.remove().expect("removes");
    std::fs::remove_dir(&inner).expect("removes");
    scope.assert_untouched();
}

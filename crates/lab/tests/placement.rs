//! The guard on the real kernel: cgroup v1, as root, one test at a time.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use unthrottle_lab::placement::name::{GroupName, Role, pid_namespace};
use unthrottle_lab::placement::{
    GroupSpec, Guard, Kept, Place, PlacementError, Process, Weight, clean, roots,
};
use unthrottle_model::{ErrorKind, Explained, Quota};
use unthrottle_testkit::alone::alone;
use unthrottle_testkit::require;

/// Set for a copy of this binary that acts as another process; says what it should do.
const ROLE: &str = "UNTHROTTLE_PLACEMENT_ROLE";

fn quota(quota_us: u64, period_us: u64, burst_us: u64) -> Quota {
    Quota { quota_us, period_us, burst_us }
}

fn spec(limit: Option<Quota>) -> GroupSpec {
    GroupSpec { limit, weight: Weight::Default }
}

fn half() -> GroupSpec {
    spec(Some(quota(50_000, 100_000, 0)))
}

fn place() -> Place {
    Place::current().expect("this machine has a cpu controller")
}

fn guard() -> Guard {
    Guard::create(&place(), &half()).expect("makes a group")
}

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null());
    command
}

fn read(dir: &Path, file: &str) -> String {
    std::fs::read_to_string(dir.join(file)).expect("reads").trim().to_owned()
}

/// Groups of ours in every hierarchy.
fn ours() -> BTreeSet<PathBuf> {
    let parents = roots().expect("there is a mount");
    let entries = parents.iter().flat_map(|dir| std::fs::read_dir(dir).expect("reads"));
    entries
        .map(|entry| entry.expect("reads").path())
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            GroupName::parse(&name).is_some()
        })
        .collect()
}

fn alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|text| !text.contains(") Z "))
}

#[track_caller]
fn within(patience: Duration, what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < patience, "{what}: not within {patience:?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

const SOON: Duration = Duration::from_secs(5);

/// A copy of this binary in the role of another process.
fn helper(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this binary"));
    command.args(["--exact", "helper_process", "--nocapture"]).env(ROLE, role);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// Not a test of its own: what the copies do. Their lines for the test begin with `>`.
#[test]
fn helper_process() {
    match std::env::var(ROLE).as_deref() {
        Ok("hold") => {
            let mut guard = guard();
            // The grandchild is not covered by the death of its grandparent.
            let child =
                guard.spawn(shell("sleep 1000 & echo $!; exec sleep 1000")).expect("starts");
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
        _ => {}
    }
}

fn lines_of(output: impl Read) -> impl Iterator<Item = String> {
    let lines = BufReader::new(output).lines().map_while(Result::ok);
    // The harness begins a line without ending it.
    lines.filter_map(|line| Some(line.split_once('>')?.1.to_owned()))
}

#[test]
fn root_limit_and_weight_land_in_the_files() {
    require!(root, v1_cpu);
    let _alone = alone();
    let spec = GroupSpec { limit: Some(quota(30_000, 50_000, 10_000)), weight: Weight::High };
    let guard = Guard::create(&place(), &spec).expect("makes a group");
    let dirs = guard.dirs();
    assert_eq!(read(&dirs.cpu, "cpu.cfs_quota_us"), "30000");
    assert_eq!(read(&dirs.cpu, "cpu.cfs_period_us"), "50000");
    assert_eq!(read(&dirs.cpu, "cpu.cfs_burst_us"), "10000");
    assert_eq!(read(&dirs.cpu, "cpu.shares"), "200000");
    assert_eq!(guard.notes(), [""; 0]);
    assert!(dirs.cpuacct.is_some_and(|dir| dir.join("cpuacct.usage").exists()));
    let removed = guard.remove().expect("removes");
    assert_eq!((removed.processes, removed.killed), (0, 0));
    assert!(removed.groups.contains(&dirs.cpu));
    assert!(!dirs.cpu.exists());

    let unlimited = Guard::create(&place(), &crate::spec(None)).expect("makes a group");
    assert_eq!(read(&unlimited.dirs().cpu, "cpu.cfs_quota_us"), "-1");
    assert_eq!(read(&unlimited.dirs().cpu, "cpu.shares"), "1024");
}

#[test]
fn root_a_child_is_inside_before_it_runs() {
    require!(root, v1_cpu);
    let _alone = alone();
    let mut guard = guard();
    let mut command = Command::new("cat");
    command.arg("/proc/self/cgroup").stdout(Stdio::piped());
    let child = guard.spawn(command).expect("starts");
    let mut text = String::new();
    child.take_stdout().expect("piped").read_to_string(&mut text).expect("reads");
    for controller in ["cpu", "cpuacct"] {
        let line = text.lines().find(|line| {
            line.split(':').nth(1).is_some_and(|list| list.split(',').any(|c| c == controller))
        });
        let line = line.expect("the controller is there");
        assert!(line.ends_with(&format!(":{}", guard.path())), "{line}");
    }
    assert!(child.wait_for(SOON).expect("waits").is_some_and(|status| status.success()));

    let missing = guard.spawn(Command::new("/nonexistent")).expect_err("no such program");
    assert_eq!(missing.kind(), ErrorKind::User);
    assert!(missing.to_string().starts_with("cannot start `/nonexistent` inside `/"), "{missing}");
}

#[test]
fn root_the_quota_stops_a_busy_child() {
    require!(root, v1_cpu);
    let _alone = alone();
    let limit = spec(Some(quota(10_000, 100_000, 0)));
    let mut guard = Guard::create(&place(), &limit).expect("makes a group");
    let begin = Instant::now();
    let _child = guard.spawn(shell("while :; do :; done")).expect("starts");
    std::thread::sleep(Duration::from_secs(1));
    let dirs = guard.dirs();
    let usage: u64 =
        read(&dirs.cpuacct.expect("mounted"), "cpuacct.usage").parse().expect("a number");
    let wall = begin.elapsed().as_nanos() as f64;
    let cores = usage as f64 / wall;
    assert!((0.02..0.2).contains(&cores), "{cores}");
    let stat = read(&dirs.cpu, "cpu.stat");
    assert!(!stat.contains("nr_throttled 0\n"), "{stat}");
}

#[test]
fn root_a_real_time_caller_starts_ordinary_children() {
    require!(root, v1_cpu);
    let _alone = alone();
    let mut guard = guard();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let parameters = libc::sched_param { sched_priority: 10 };
            // SAFETY: `parameters` lives through the call.
            let result =
                unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
            assert_eq!(result, 0);
            let mut command = Command::new("cat");
            command.arg("/proc/self/stat").stdout(Stdio::piped());
            let child = guard.spawn(command).expect("starts");
            let mut text = String::new();
            child.take_stdout().expect("piped").read_to_string(&mut text).expect("reads");
            // Field 41 is the policy; the name before field 3 has no blanks here.
            assert_eq!(text.split(' ').nth(40), Some("0"), "{text}");
        });
    });
}

#[test]
fn root_a_limit_can_be_changed() {
    require!(root, v1_cpu);
    let _alone = alone();
    let guard = guard();
    let cpu = guard.dirs().cpu;
    for (limit, expected) in [
        (Some(quota(100_000, 100_000, 0)), ["100000", "100000", "0"]),
        (Some(quota(20_000, 100_000, 20_000)), ["20000", "100000", "20000"]),
        (Some(quota(1_000, 1_000_000, 0)), ["1000", "1000000", "0"]),
        (Some(quota(4_000, 2_000, 4_000)), ["4000", "2000", "4000"]),
        (Some(quota(1_500, 1_000, 0)), ["1500", "1000", "0"]),
        (None, ["-1", "1000", "0"]),
        (Some(quota(50_000, 100_000, 0)), ["50000", "100000", "0"]),
    ] {
        guard.set_limit(limit).expect("takes it");
        let files = ["cpu.cfs_quota_us", "cpu.cfs_period_us", "cpu.cfs_burst_us"];
        assert_eq!(files.map(|file| read(&cpu, file)), expected, "{limit:?}");
    }
}

#[test]
fn root_refusals_say_why_and_leave_nothing() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    for limit in [quota(999, 100_000, 0), quota(50_000, 999, 0), quota(50_000, 100_000, 50_001)] {
        let error = Guard::create(&place(), &spec(Some(limit))).expect_err("out of range");
        assert_eq!(error.kind(), ErrorKind::User);
    }
    assert_eq!(ours(), before);

    // Inside a group with half a core, as in a container.
    let outer = guard();
    let inside = Place { cpu_dir: outer.dirs().cpu, path: outer.path().to_owned(), ..place() };
    let error = Guard::create(&inside, &spec(Some(quota(100_000, 100_000, 0)))).expect_err("above");
    let PlacementError::AboveParent { parent, .. } = &error else { panic!("{error}") };
    assert_eq!(*parent, outer.dirs().cpu);
    let text = error.to_string();
    assert!(text.contains("cannot have 1 cores: its parent"), "{text}");
    assert!(text.ends_with("has 0.5"), "{text}");
    assert!(error.hint().is_some_and(|hint| hint.contains("`--limit 0.5`")));
    assert_eq!(std::fs::read_dir(outer.dirs().cpu).expect("reads").filter(is_dir).count(), 0);

    let inner = Guard::create(&inside, &spec(Some(quota(20_000, 100_000, 0)))).expect("below");
    assert!(inner.path().starts_with(outer.path()), "{}", inner.path());
    inner.set_limit(Some(quota(100_000, 100_000, 0))).expect_err("above");
    assert_eq!(read(&inner.dirs().cpu, "cpu.cfs_quota_us"), "20000", "the old one stays");
}

fn is_dir(entry: &std::io::Result<std::fs::DirEntry>) -> bool {
    entry.as_ref().is_ok_and(|entry| entry.path().is_dir())
}

#[test]
fn root_everything_goes_on_drop_and_on_panic() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    let mut guard = guard();
    let child = guard.spawn(shell("exec sleep 1000")).expect("starts");
    drop(guard);
    assert_eq!(ours(), before);
    assert!(!alive(child.pid()));
    assert!(child.try_wait().expect("waits").is_some(), "it was collected");

    let mut pid = 0;
    let panicked = std::panic::catch_unwind(AssertUnwindSafe(|| {
        let mut guard = crate::guard();
        pid = guard.spawn(shell("exec sleep 1000")).expect("starts").pid();
        panic!("on purpose");
    }));
    assert!(panicked.is_err());
    assert_eq!(ours(), before);
    assert!(!alive(pid));
}

#[test]
fn root_a_workload_may_end_by_itself_first() {
    require!(root, v1_cpu);
    let _alone = alone();
    let dir = tempfile::tempdir().expect("a directory");
    let mark = dir.path().join("ended");
    let script =
        format!("trap 'echo > {}; exit' TERM; echo; while :; do sleep 0.01; done", mark.display());
    let mut guard = guard();
    let child = started(&mut guard, &script);
    let removed = guard.remove().expect("removes");
    assert!(mark.exists(), "SIGTERM came first");
    assert_eq!(removed.killed, 0);
    assert!(removed.processes >= 1);
    assert!(!alive(child.pid()));
}

/// Starts a script and waits for its first line.
fn started(guard: &mut Guard, script: &str) -> Process {
    let mut command = shell(script);
    command.stdout(Stdio::piped());
    let child = guard.spawn(command).expect("starts");
    let mut line = String::new();
    BufReader::new(child.take_stdout().expect("piped")).read_line(&mut line).expect("reads");
    child
}

#[test]
fn root_the_deaf_and_their_children_are_killed() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    // SIGTERM is ignored here and, by inheritance, in the children; a quota of 1 % delays them all.
    let limit = spec(Some(quota(1_000, 100_000, 0)));
    let mut guard = Guard::create(&place(), &limit).expect("makes a group");
    let child = started(
        &mut guard,
        "trap '' TERM; for i in 1 2 3; do (sleep 1000 & wait) & done; echo; wait",
    );
    let begin = Instant::now();
    let removed = guard.remove().expect("removes");
    let took = begin.elapsed();
    assert!((1..4).contains(&took.as_secs()), "{took:?}");
    assert!(removed.killed >= 7, "{removed:?}");
    assert!(!alive(child.pid()));
    assert_eq!(ours(), before);
}

#[test]
fn root_groups_below_go_too_and_children_that_left() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    let mut guard = guard();
    let cpu = guard.dirs().cpu;
    let root = roots().expect("a mount").into_iter().find(|root| cpu.starts_with(root));
    let root = root.expect("its own");
    let below = format!(
        "mkdir -p {0}/a/b {0}/c; sleep 1000 & echo $! > {0}/a/b/cgroup.procs; echo; wait",
        cpu.display()
    );
    let inside = started(&mut guard, &below);
    let leave = format!("echo $$ > {}/cgroup.procs; echo; exec sleep 1000", root.display());
    let left = started(&mut guard, &leave);
    let removed = guard.remove().expect("removes");
    assert!(!alive(inside.pid()) && !alive(left.pid()));
    assert_eq!(ours(), before);
    assert_eq!(removed.groups[..4].last(), Some(&cpu), "deepest first: {removed:?}");
}

#[test]
fn root_children_die_with_a_killed_parent_and_the_next_start_cleans() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    let mut parent = helper("hold").spawn().expect("starts");
    let line = lines_of(parent.stdout.take().expect("piped")).next().expect("a line");
    let (child, dir) = line.split_once(' ').expect("two words");
    let (child, dir) = (child.parse().expect("a pid"), PathBuf::from(dir));
    assert!(alive(child));
    within(SOON, "the grandchild", || read(&dir, "cgroup.procs").lines().count() == 2);

    parent.kill().expect("kills");
    within(SOON, "the child dies", || !alive(child));
    // Not waited for yet: an owner that is only a name in the process table owns nothing.
    let report = clean(&roots().expect("a mount")).expect("cleans");
    assert!(report.removed.contains(&dir), "{report:?}");
    assert_eq!(report.killed, 1, "the grandchild: {report:?}");
    assert_eq!(report.failed, []);
    assert_eq!(ours(), before);
    parent.wait().expect("waits");

    let mut parent = helper("hold").spawn().expect("starts");
    lines_of(parent.stdout.take().expect("piped")).next().expect("a line");
    parent.kill().expect("kills");
    parent.wait().expect("waits");
    assert_ne!(ours(), before);
    let next = guard();
    assert!(next.notes().iter().any(|note| note.contains("left by a run that was killed")));
    next.remove().expect("removes");
    assert_eq!(ours(), before);
}

#[test]
fn root_only_stale_groups_of_ours_are_cleaned() {
    require!(root, v1_cpu);
    let _alone = alone();
    let live = guard();
    let parent = place().cpu_dir;
    let ended = {
        let mut child = Command::new("true").spawn().expect("starts");
        child.wait().expect("waits");
        child.id()
    };
    let pid_ns = pid_namespace().expect("reads /proc");
    let stale = GroupName { pid_ns, pid: ended, start: 1, n: 0, role: Role::Workload };
    let elsewhere = parent.join(GroupName { pid_ns: 1, ..stale }.to_string());
    let reused = parent.join(GroupName { pid: std::process::id(), ..stale }.to_string());
    let similar = parent.join(format!("{stale}-x"));
    let plain = parent.join("unthrottle-test");
    let nested = plain.join(stale.to_string());
    let stale = parent.join(stale.to_string());
    let keep = [&elsewhere, &similar, &plain];
    for dir in keep.into_iter().chain([&stale, &reused, &nested]) {
        std::fs::create_dir(dir).expect("makes");
    }
    let report = clean(&roots().expect("a mount")).expect("cleans");
    let kept_are_there = keep.map(|dir| dir.exists());
    for dir in keep {
        std::fs::remove_dir(dir).expect("removes");
    }
    assert_eq!(kept_are_there, [true; 3]);
    let removed: BTreeSet<_> = report.removed.iter().collect();
    assert_eq!(removed, BTreeSet::from([&stale, &reused, &nested]));
    assert!(live.dirs().cpu.exists());
    assert!(report.kept.contains(&(elsewhere, Kept::OtherPidNamespace)), "{report:?}");
    let me = Kept::Live { pid: std::process::id() };
    assert!(report.kept.contains(&(live.dirs().cpu, me)), "{report:?}");
    assert_eq!(report.failed, []);
}

#[test]
fn root_guards_do_not_meet() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    let mut first = guard();
    let mut second = guard();
    assert_ne!(first.path(), second.path());
    let one = first.spawn(shell("exec sleep 1000")).expect("starts");
    let two = second.spawn(shell("exec sleep 1000")).expect("starts");
    first.remove().expect("removes");
    assert!(!alive(one.pid()) && alive(two.pid()));
    second.remove().expect("removes");

    // A name that is taken is passed over: the counter is this process', so take the next ones.
    let next = GroupName::fresh().expect("reads /proc");
    let parent = place().cpu_dir;
    let taken: Vec<_> =
        (1..4).map(|n| parent.join(GroupName { n: next.n + n, ..next }.to_string())).collect();
    taken.iter().for_each(|dir| std::fs::create_dir(dir).expect("makes"));
    let third = guard();
    assert!(!taken.contains(&third.dirs().cpu));
    third.remove().expect("removes");
    taken.iter().for_each(|dir| std::fs::remove_dir(dir).expect("still there"));

    // Many at once, made and removed from several threads.
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let mut guard = guard();
                    guard.spawn(shell("exec sleep 1000")).expect("starts");
                    guard.remove().expect("removes");
                }
            });
        }
    });
    assert_eq!(ours(), before);
}

#[test]
fn root_fifty_times_nothing_is_left() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    for round in 0..50 {
        let mut guard = guard();
        // Ends at any point of its life: before exec, busy, exiting.
        for _ in 0..round % 4 {
            guard.spawn(shell("i=0; while [ $i -lt 300 ]; do i=$((i+1)); done")).expect("starts");
        }
        std::thread::sleep(Duration::from_micros(round * 200));
        guard.remove().expect("removes");
    }
    assert_eq!(ours(), before);
}

#[test]
fn root_killed_at_any_moment_nothing_is_left_after_cleaning() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    let mut seed: u64 = 0x9e37_79b9_7f4a_7c15;
    for round in 0..15 {
        let mut parent = helper("cycle").spawn().expect("starts");
        let mut lines = lines_of(parent.stdout.take().expect("piped"));
        lines.next().expect("a line");
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_micros((seed >> 33) % 30_000));
        parent.kill().expect("kills");
        parent.wait().expect("waits");
        let report = clean(&roots().expect("a mount")).expect("cleans");
        assert_eq!(report.failed, [], "round {round}");
        assert_eq!(ours(), before, "round {round}: {report:?}");
    }
}

fn report_of(mut command: Command) -> String {
    let output = command.output().expect("runs");
    let line = lines_of(output.stdout.as_slice()).next();
    line.unwrap_or_else(|| panic!("{}", String::from_utf8_lossy(&output.stderr)))
}

#[test]
fn root_without_permission_the_error_says_how_to_get_it() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    let this = std::env::current_exe().expect("this binary");
    let nobody = unthrottle_testkit::drop_privileges::command_as_nobody(&this);
    let mut command = nobody.command();
    command.args(["--exact", "helper_process", "--nocapture"]).env(ROLE, "report");
    let report = report_of(command);
    let parts: Vec<&str> = report.split('|').collect();
    assert_eq!(parts[0], "Machine", "{report}");
    assert!(parts[1].starts_with("cannot make a quota group: below `/"), "{report}");
    assert!(parts[1].contains("make a group: Permission denied"), "{report}");
    assert!(parts[2].contains("`sudo unthrottle ...`"), "{report}");
    assert_eq!(ours(), before);
}

#[test]
fn root_a_read_only_mount_is_named() {
    require!(root, v1_cpu);
    let _alone = alone();
    let mount = place().mount_dir;
    let script = format!("mount -o remount,bind,ro {0} {0} && exec \"$@\"", mount.display());
    let inner = helper("report");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", &script, "sh"]).arg(inner.get_program());
    command.args(inner.get_args()).env(ROLE, "report");
    let report = report_of(command);
    assert!(report.starts_with("Machine|"), "{report}");
    assert!(report.contains("Read-only file system"), "{report}");
    assert!(report.contains("`--privileged`"), "{report}");
}

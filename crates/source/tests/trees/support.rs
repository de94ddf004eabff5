//! From a made-up machine to what is said about it, in words short enough for an assertion.

use unthrottle_analysis::level::{EffectiveBy, Level};
use unthrottle_analysis::{Check, Explanation, FindingVerdict};
use unthrottle_model::rows::{LimitState, NoLimit};
use unthrottle_model::{Explained, Recording};
use unthrottle_source::mounts::CgroupFs;
use unthrottle_source::target::{Resolved, TargetSpec, resolve};
use unthrottle_source::watch::{Watch, WatchOptions};
use unthrottle_source::{Root, SourceError, Stop, monotonic_ns};
use unthrottle_testkit::FakeTree;

/// A change of the machine between two readings.
pub type Step<'a> = &'a dyn Fn(&FakeTree);

/// The target found, or why not.
pub fn find(tree: &FakeTree, asked: &str) -> Result<(CgroupFs, Resolved), SourceError> {
    let spec: TargetSpec = asked.parse()?;
    let fs = CgroupFs::discover(&Root::at(tree.root()))?;
    let resolved = resolve(&fs, &spec, asked)?;
    Ok((fs, resolved))
}

/// Hierarchy and path of a target: `v1:cpu /a`.
#[track_caller]
pub fn found(tree: &FakeTree, asked: &str) -> String {
    match find(tree, asked) {
        Ok((fs, resolved)) => format!("{} {}", fs.hierarchy.word(), resolved.facts.path),
        Err(error) => panic!("{asked}: {error}"),
    }
}

/// An error as a user reads it, without the place of this run's tree.
#[track_caller]
pub fn refused(tree: &FakeTree, asked: &str) -> String {
    let error = find(tree, asked).expect_err("this target should not be found");
    let kind = error.kind();
    let cause = std::error::Error::source(&error).map_or_else(String::new, |c| format!("\n{c}"));
    let hint = error.hint().expect("every error has a hint");
    format!("{kind:?}: {error}{cause}\nhint: {hint}")
        .replace(&tree.root().display().to_string(), "ROOT")
}

/// Watches the target through `steps`: one reading before the first, and at least one after each.
///
/// Around a single step there are two readings, and no clock decides when. Between several, each
/// step is made just after a reading and long before the next.
#[track_caller]
pub fn watch(tree: &FakeTree, asked: &str, steps: &[Step<'_>]) -> Recording {
    match steps {
        [step] => watch_around(tree, asked, step),
        steps => watch_every(400_000_000, tree, asked, steps),
    }
}

#[track_caller]
fn watch_around(tree: &FakeTree, asked: &str, step: Step<'_>) -> Recording {
    const NEVER_NS: i64 = 86_400_000_000_000;
    let (mut recording, watch) = begin(NEVER_NS, tree, asked);
    step(tree);
    watch.ender().request();
    while let Some(batch) = watch.next_batch() {
        recording.push(batch);
    }
    recording
}

/// Reads every `interval_ns`, whatever happens meanwhile.
#[track_caller]
pub fn watch_every(
    interval_ns: i64,
    tree: &FakeTree,
    asked: &str,
    steps: &[Step<'_>],
) -> Recording {
    let (mut recording, watch) = begin(interval_ns, tree, asked);
    for step in steps {
        step(tree);
        let done_ns = monotonic_ns();
        loop {
            // Without a batch the target is gone, and the watch with it.
            let Some(batch) = watch.next_batch() else { return recording };
            let begun_ns = batch.clock.first().map_or(0, |row| row.monotonic_ns);
            recording.push(batch);
            if begun_ns >= done_ns {
                break;
            }
        }
    }
    recording
}

/// A watch with its first reading.
#[track_caller]
fn begin(interval_ns: i64, tree: &FakeTree, asked: &str) -> (Recording, Watch) {
    let (fs, target) = find(tree, asked).expect("the target is there");
    let options = WatchOptions { for_ns: 86_400_000_000_000, interval_ns };
    let (meta, watch) = Watch::start(&fs, &target, &options, &Stop::default()).expect("a watch");
    let mut recording = Recording::new(meta);
    recording.push(watch.next_batch().expect("the first reading"));
    (recording, watch)
}

/// What comes of such a watch.
#[track_caller]
pub fn explain(tree: &FakeTree, asked: &str, steps: &[Step<'_>]) -> Explanation {
    unthrottle_analysis::explain(&watch(tree, asked, steps))
}

/// The same where nothing changes.
#[track_caller]
pub fn look(tree: &FakeTree, asked: &str) -> Explanation {
    explain(tree, asked, &[&|_| ()])
}

/// Every level with its limit, root first: `/a 0.5`, `/a/b none`.
pub fn limits(e: &Explanation) -> Vec<String> {
    let show = |level: &Level| {
        let limit = match level.limit() {
            Some(LimitState::Limit(limit)) => {
                limit.cores().map_or_else(|| "none".to_owned(), |cores| cores.to_string())
            }
            Some(LimitState::None(NoLimit::Root)) => "root".to_owned(),
            Some(LimitState::None(NoLimit::ControllerOff)) => "off".to_owned(),
            Some(LimitState::None(NoLimit::NoBandwidth)) => "no bandwidth".to_owned(),
            Some(LimitState::None(NoLimit::Unreadable)) => "unreadable".to_owned(),
            None => "never read".to_owned(),
        };
        format!("{} {limit}", level.group.path)
    };
    e.levels.iter().map(show).collect()
}

/// The effective limit and where it comes from: `0.5 quota /a`.
pub fn effective(e: &Explanation) -> String {
    let (cores, by) = e.effective;
    match by {
        EffectiveBy::Quota(key) => format!("{cores} quota {}", level(e, key).group.path),
        EffectiveBy::Cpuset => format!("{cores} cpuset"),
        EffectiveBy::Cpus => format!("{cores} cpus"),
    }
}

fn level(e: &Explanation, key: u32) -> &Level {
    e.levels.iter().find(|level| level.group.group == key).expect("a level with this key")
}

/// The level at a path.
#[track_caller]
pub fn level_at<'a>(e: &'a Explanation, path: &str) -> &'a Level {
    e.levels.iter().find(|level| level.group.path == path).expect("a level at this path")
}

/// Paths of the levels that stopped the target.
pub fn binding(e: &Explanation) -> Vec<&str> {
    e.binding().map(|key| level(e, key).group.path.as_str()).collect()
}

/// Verdict of the first finding with this name; `None` if it was not asked.
pub fn finding(e: &Explanation, word: &str) -> Option<FindingVerdict> {
    e.findings.iter().find(|each| each.check.word() == word).map(|each| each.verdict)
}

/// All accepted findings by name.
pub fn accepted(e: &Explanation) -> Vec<&'static str> {
    let accepted = e.findings.iter().filter(|each| each.verdict == FindingVerdict::Accepted);
    accepted.map(|each| each.check.word()).collect()
}

/// The accepted findings themselves.
pub fn accepted_checks(e: &Explanation) -> Vec<Check> {
    let accepted = e.findings.iter().filter(|each| each.verdict == FindingVerdict::Accepted);
    accepted.map(|each| each.check).collect()
}

/// Reason of the first loss of a field.
pub fn loss<'a>(e: &'a Explanation, field: &str) -> Option<&'a str> {
    e.losses.iter().find(|loss| loss.field == field).map(|loss| loss.reason.as_str())
}

/// `nr_throttled` of `nr_periods` at a path; `-` for what was not read.
#[track_caller]
pub fn counted(e: &Explanation, path: &str) -> String {
    let counters = &level_at(e, path).increase.counters;
    let show = |value: Option<i64>| value.map_or_else(|| "-".to_owned(), |n| n.to_string());
    format!("{} of {}", show(counters.nr_throttled), show(counters.nr_periods))
}

/// The mount table of a machine with these cgroup lines beside what every machine mounts.
pub fn mountinfo(lines: &[&str]) -> String {
    let usual = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n\
                 23 22 0:21 / /proc rw,nosuid shared:5 - proc proc rw\n\
                 24 22 0:22 / /sys rw,nosuid shared:6 - sysfs sysfs rw\n\
                 31 24 0:28 / /sys/fs/cgroup ro,nosuid shared:9 - tmpfs tmpfs ro,mode=755\n";
    format!("{usual}{}\n", lines.join("\n"))
}

/// Writes a v1 group of the cpu controller by hand, where the tree's own layout does not reach.
pub fn v1_group_at(tree: &FakeTree, dir: &str, quota_us: i64, period_us: u64) {
    tree.file(&format!("{dir}/cpu.cfs_quota_us"), &format!("{quota_us}\n"))
        .file(&format!("{dir}/cpu.cfs_period_us"), &format!("{period_us}\n"))
        .file(&format!("{dir}/cpu.stat"), "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n")
        .file(&format!("{dir}/cgroup.procs"), "");
}

/// Writes a v2 group by hand; `max` is the text of cpu.max.
pub fn v2_group_at(tree: &FakeTree, dir: &str, max: &str) {
    tree.file(&format!("{dir}/cpu.max"), &format!("{max}\n"))
        .file(&format!("{dir}/cgroup.type"), "domain\n")
        .file(&format!("{dir}/cpu.weight"), "100\n")
        .file(
            &format!("{dir}/cpu.stat"),
            "usage_usec 0\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n",
        )
        .file(&format!("{dir}/cgroup.procs"), "");
}

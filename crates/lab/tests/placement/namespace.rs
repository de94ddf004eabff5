//! Inside of a cgroup namespace, with the host's hierarchy mounted.

use std::process::Command;

use unthrottle_testkit::alone::alone;
use unthrottle_testkit::real_group::RealGroup;
use unthrottle_testkit::require;

use crate::support::{ROLE, helper, lines_of, ours};

/// There the path of the own group reads `/`. Taken as it is, that would be the host's root, where
/// no limit above the caller holds.
#[test]
fn root_a_workload_stays_below_its_own_group() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    let group = RealGroup::new("namespace");
    let script = format!("echo 0 > {}/cgroup.procs && exec \"$@\"", group.directory().display());
    let inner = helper("report");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", "unshare", "--cgroup"]).arg(inner.get_program());
    command.args(inner.get_args()).env(ROLE, "report");
    let output = command.output().expect("runs");
    let report = lines_of(output.stdout.as_slice()).next().expect("a line");
    assert!(report.starts_with(&format!("made {}/unthrottle-", group.path())), "{report}");
    assert_eq!(ours(), before);
}

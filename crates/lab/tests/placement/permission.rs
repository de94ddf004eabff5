//! Where no group can be made.

use std::process::Command;

use unthrottle_testkit::alone::alone;
use unthrottle_testkit::drop_privileges::command_as_nobody;
use unthrottle_testkit::require;

use crate::support::{HELPER, ROLE, helper, lines_of, ours, place};

fn report_of(mut command: Command) -> String {
    let output = command.output().expect("runs");
    lines_of(output.stdout.as_slice()).next().expect("a line")
}

#[test]
fn root_without_permission_the_error_says_how_to_get_it() {
    require!(root, v1_cpu);
    let _alone = alone();
    let before = ours();
    let this = std::env::current_exe().expect("this binary");
    let nobody = command_as_nobody(&this);
    let mut command = nobody.command();
    command.args(["--exact", HELPER, "--nocapture"]).env(ROLE, "report");
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

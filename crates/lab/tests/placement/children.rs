//! Children, as they find themselves.

use std::io::Read;
use std::process::{Command, Stdio};

use unthrottle_model::{ErrorKind, Explained};
use unthrottle_testkit::alone::alone;
use unthrottle_testkit::require;

use crate::support::{SOON, guard};

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

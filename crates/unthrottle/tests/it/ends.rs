//! How commands end: 0 fine, 2 the user's mistake, 3 not measured.

use unthrottle_testkit::FakeTree;

use crate::support::{Ran, explain_through, on, run, throttle, throttled_service};

#[track_caller]
fn explain(tree: &FakeTree, target: &str) -> Ran {
    run(on(tree, &["explain", target, "--for", "250ms"]))
}

#[test]
fn a_throttled_target_is_an_answer_and_no_failure() {
    let ran = explain_through(&throttled_service(), "unit:web", &[], throttle);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("THROTTLED  "), "{}", ran.out);
}

#[test]
fn a_quiet_target_ends_with_0() {
    let ran = explain(&throttled_service(), "unit:web");
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("NOT THROTTLED  "), "{}", ran.out);
}

#[test]
fn unreadable_counters_end_with_3_and_still_say_what_is_known() {
    let tree = throttled_service();
    tree.remove("sys/fs/cgroup/system.slice/web.service/cpu.stat");
    let ran = explain(&tree, "unit:web");
    assert_eq!(ran.code, 3, "{}", ran.out);
    assert!(ran.out.starts_with("NOT MEASURED  "), "{}", ran.out);
    assert!(ran.out.contains("0.5"), "the limit is known: {}", ran.out);
}

#[test]
fn unknown_targets_end_with_2_and_a_next_step() {
    let tree = FakeTree::v2();
    let mut told = String::new();
    for target in
        ["nobody", "pid:4000000", "cgroup:/nowhere", "unit:none", "docker:0123456789ab", "cri:dead"]
    {
        let ran = explain(&tree, target);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{target}: {}", ran.err);
        told += &ran.err.replace(&tree.root().display().to_string(), "ROOT");
    }
    insta::assert_snapshot!("unknown-targets", told);
}

#[test]
fn an_ambiguous_target_ends_with_2_and_lists_what_it_means() {
    let tree = FakeTree::v2();
    for user in ["1000", "1001"] {
        tree.group(
            &format!("/user.slice/user-{user}.slice/user@{user}.service/app.slice/x.service"),
            |group| group,
        );
    }
    let ran = explain(&tree, "x");
    assert_eq!(ran.code, 2);
    insta::assert_snapshot!(ran.err, @r"
    error: `x` matches 2 groups:
      cgroup:/user.slice/user-1000.slice/user@1000.service/app.slice/x.service
      cgroup:/user.slice/user-1001.slice/user@1001.service/app.slice/x.service
    hint: name one of them
    ");
}

#[test]
fn a_directory_without_a_machine_ends_with_3() {
    let empty = tempfile::tempdir().expect("a directory");
    let root = empty.path().display().to_string();
    for args in [&["explain", "self"][..], &["top", "--once"], &["doctor"]] {
        let mut all = vec!["--root", &root];
        all.extend(args);
        let ran = run(crate::support::command(&all));
        assert_eq!(ran.code, 3, "{args:?}: {}", ran.err);
    }
}

/// The machine cannot show it: not the user's mistake.
#[test]
fn a_group_outside_of_the_container_ends_with_3() {
    let tree = FakeTree::v2();
    tree.mountinfo("31 24 0:28 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    let ran = explain(&tree, "cgroup:/docker/y");
    assert_eq!(ran.code, 3, "{}", ran.err);
    assert!(ran.err.contains("\nhint: "), "{}", ran.err);
}

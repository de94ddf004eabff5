//! `unit:NAME`, by path.

use unthrottle_testkit::FakeTree;

use crate::support::{find, found, refused};

#[test]
fn a_unit_is_found_wherever_its_slice_puts_it() {
    for tree in [FakeTree::v1_joined(), FakeTree::v2(), FakeTree::hybrid()] {
        let path = "/machine.slice/machine-db.slice/postgres.service";
        tree.group(path, |group| group.quota(50_000, 100_000));
        for asked in ["unit:postgres", "unit:postgres.service"] {
            assert!(found(&tree, asked).ends_with(path));
        }
        assert!(found(&tree, "unit:machine-db.slice").ends_with("/machine.slice/machine-db.slice"));
        let (_, resolved) = find(&tree, "unit:postgres").expect("found");
        assert_eq!(resolved.facts.runtime.as_deref(), Some("systemd-service"));
        assert_eq!(resolved.facts.name, "unit:postgres.service");
    }
}

#[test]
fn groups_below_a_unit_do_not_make_it_ambiguous() {
    let tree = FakeTree::v2();
    tree.group("/system.slice/web.service/payload/x", |group| group);
    assert_eq!(found(&tree, "unit:web"), "v2 /system.slice/web.service");
}

#[test]
fn a_unit_of_two_users_is_ambiguous() {
    let tree = FakeTree::v2();
    for user in [1000, 1001] {
        let path =
            format!("/user.slice/user-{user}.slice/user@{user}.service/app.slice/sync.service");
        tree.group(&path, |group| group);
    }
    insta::assert_snapshot!(refused(&tree, "unit:sync"), @r"
    User: `unit:sync` matches 2 groups:
      cgroup:/user.slice/user-1000.slice/user@1000.service/app.slice/sync.service
      cgroup:/user.slice/user-1001.slice/user@1001.service/app.slice/sync.service
    hint: name one of them
    ");
}

/// Where the cpu controller is on v1, systemd makes a group there only for units with CPU settings.
#[test]
fn a_unit_without_a_group_in_the_cpu_hierarchy_is_said_to_run_without_one() {
    for systemd in ["systemd", "unified"] {
        let tree = FakeTree::hybrid();
        tree.file(&format!("sys/fs/cgroup/{systemd}/system.slice/web.service/cgroup.procs"), "7\n");
        tree.group("/system.slice", |group| group);
        insta::allow_duplicates! {
            insta::assert_snapshot!(refused(&tree, "unit:web"), @r"
            User: nothing matches `unit:web`: unit `web.service` runs, but has no group of its own in the cpu hierarchy
            hint: it has no CPU limit of its own; watch one of its processes with `pid:N`
            ");
        }
    }
}

#[test]
fn a_unit_that_does_not_run_is_looked_for_with_systemctl() {
    for tree in [FakeTree::hybrid(), FakeTree::v2()] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(refused(&tree, "unit:web"), @r"
            User: nothing matches `unit:web`: no unit `web.service` has a group in the cpu hierarchy
            hint: check that it runs: `systemctl status web.service`
            ");
        }
    }
}

//! What this machine can run, and a count of what it cannot.
//!
//! A test begins with `require!(root, v1_cpu)`. Where one of them is missing the test says so on
//! stderr, adds a line to a file that `cargo xtask ci` counts, and ends. With `CI=true` it fails
//! instead: there nothing may be skipped.

use std::io::Write as _;
use std::path::PathBuf;

use crate::hierarchies;

/// Set by `cargo xtask ci` to the file that collects the lines.
const SKIPPED_FILE: &str = "UNTHROTTLE_SKIPPED_FILE";

/// Ends the test, counted and with a reason, unless this machine has all that is named.
///
/// The names are functions of [`gate`](crate::gate).
#[macro_export]
macro_rules! require {
    ($($need:ident),+ $(,)?) => {
        $(
            if let Err(reason) = $crate::gate::$need() {
                fn here() {}
                $crate::gate::skip(::std::any::type_name_of_val(&here), &reason);
                return;
            }
        )+
    };
}

/// The privileges of root.
///
/// # Errors
/// Who the test runs as instead.
pub fn root() -> Result<(), String> {
    let uid = rustix::process::geteuid().as_raw();
    if uid == 0 { Ok(()) } else { Err(format!("needs root, and runs as user {uid}")) }
}

/// A cgroup v1 hierarchy with the cpu controller in which groups can be made and limited; its
/// mount point.
///
/// # Errors
/// What is missing, or what the kernel refused.
pub fn v1_cpu() -> Result<PathBuf, String> {
    let mount = hierarchies::mounted().into_iter().find(|hierarchy| hierarchy.has("cpu"));
    let mount = mount.ok_or("needs a cgroup v1 mount of the cpu controller, and there is none")?;
    // A name of its own for each thread: tests run beside each other.
    let thread = rustix::thread::gettid().as_raw_nonzero();
    let probe = mount.point.join(format!("unthrottle-gate-{thread}"));
    let limited = std::fs::create_dir(&probe)
        .and_then(|()| std::fs::write(probe.join("cpu.cfs_quota_us"), "50000"));
    let removed = std::fs::remove_dir(&probe);
    match limited.and(removed) {
        Ok(()) => Ok(mount.point),
        Err(error) => {
            Err(format!("needs groups with a quota in {}: {error}", mount.point.display()))
        }
    }
}

/// The programs of a private Docker Engine, and root to run it.
///
/// # Errors
/// Which program is missing, and how to get it.
pub fn dockerd() -> Result<(), String> {
    root()?;
    crate::docker::programs().map(|_| ())
}

/// Notes that `test` cannot run for `reason`; with `CI=true` fails it.
///
/// # Panics
/// With `CI=true` in the environment.
pub fn skip(test: &str, reason: &str) {
    // The macro hands over the path of a function inside the test.
    let test = test.strip_suffix("::here").unwrap_or(test);
    let strict = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(!strict, "{test} cannot run here, and CI=true lets nothing be skipped: {reason}");
    let line = line(test, reason);
    // Not `eprintln!`, which the test harness hides in tests that pass.
    let _ = std::io::stderr().write_all(format!("skipped: {line}").as_bytes());
    let added = std::fs::OpenOptions::new().create(true).append(true).open(file());
    let _ = added.and_then(|mut file| file.write_all(line.as_bytes()));
}

fn line(test: &str, reason: &str) -> String {
    format!("{test}: {}\n", reason.replace('\n', " "))
}

/// Without the task's word: `skipped.txt` in the target directory that this test binary is in.
fn file() -> PathBuf {
    if let Some(file) = std::env::var_os(SKIPPED_FILE) {
        return file.into();
    }
    let binary = std::env::current_exe().unwrap_or_default();
    let deps = binary.ancestors().find(|path| path.ends_with("deps"));
    deps.and_then(|deps| deps.ancestors().nth(2))
        .map_or_else(std::env::temp_dir, PathBuf::from)
        .join("skipped.txt")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line() {
        assert_eq!(line("a::b", "no\nroot"), "a::b: no root\n");
    }

    #[test]
    fn lines_are_collected_in_the_target_directory() {
        let file = file();
        assert!(file.ends_with("skipped.txt"), "{}", file.display());
        assert!(!file.to_string_lossy().contains("/deps/"), "{}", file.display());
    }

    #[test]
    fn the_probe_of_a_group_leaves_nothing() {
        require!(v1_cpu);
        let mount = v1_cpu().unwrap();
        let thread = rustix::thread::gettid().as_raw_nonzero();
        assert!(!mount.join(format!("unthrottle-gate-{thread}")).exists());
    }

    #[test]
    fn root_is_told_from_others() {
        assert_eq!(root().is_ok(), rustix::process::geteuid().is_root());
    }
}

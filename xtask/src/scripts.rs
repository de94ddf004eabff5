//! `scripts/setup` on machines that lack something, with stand-ins for the package manager.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// A machine: a directory that is the whole PATH, and a log of what the stand-ins were asked.
struct Machine {
    top: PathBuf,
}

/// How the script ended, what it said, and what was asked of the package manager.
#[derive(Debug)]
struct Outcome {
    code: Option<i32>,
    said: String,
    asked: Vec<String>,
}

impl Machine {
    /// A machine of this user with a compiler, make, cargo and apt; `without` is taken away.
    fn new(user: &str, without: &[&str]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("unthrottle-setup-{}-{number}", std::process::id());
        let machine = Self { top: std::env::temp_dir().join(name) };
        fs::create_dir_all(machine.top.join("bin")).unwrap();
        machine.add("id", &format!("echo {user}"));
        for tool in ["sed", "env"] {
            let real = ["/usr/bin", "/bin"].map(|place| PathBuf::from(place).join(tool));
            let real = real.iter().find(|path| path.exists()).unwrap();
            std::os::unix::fs::symlink(real, machine.top.join("bin").join(tool)).unwrap();
        }
        for tool in ["cc", "make", "cargo", "apt-cache"] {
            machine.add(tool, "exit 0");
        }
        let log = machine.top.join("asked");
        machine.add("apt-get", &format!("echo \"$*\" >> {}", log.display()));
        for tool in without {
            fs::remove_file(machine.top.join("bin").join(tool)).unwrap();
        }
        machine
    }

    fn add(&self, tool: &str, body: &str) {
        let path = self.top.join("bin").join(tool);
        fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn setup(&self, stage: &str) -> Outcome {
        let output = Command::new("/bin/sh")
            .arg(crate::root().join("scripts/setup"))
            .arg(stage)
            .env_clear()
            .env("PATH", self.top.join("bin"))
            .env("HOME", &self.top)
            .output()
            .unwrap();
        let asked = fs::read_to_string(self.top.join("asked")).unwrap_or_default();
        Outcome {
            code: output.status.code(),
            said: String::from_utf8(output.stderr).unwrap(),
            asked: asked.lines().map(str::to_owned).collect(),
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.top).unwrap();
    }
}

#[test]
fn nothing_is_asked_where_nothing_is_missing() {
    let outcome = Machine::new("1000", &[]).setup("demo");
    assert_eq!((outcome.code, outcome.said.as_str(), outcome.asked.len()), (Some(0), "", 0));
}

#[test]
fn root_installs_what_is_missing_and_no_more() {
    let outcome = Machine::new("0", &["make"]).setup("demo");
    assert_eq!(outcome.code, Some(0));
    assert_eq!(outcome.asked, ["update", "install -y --no-install-recommends make"]);
}

#[test]
fn a_compiler_that_cannot_link_is_missing() {
    let machine = Machine::new("0", &[]);
    machine.add("cc", "exit 1");
    let outcome = machine.setup("build");
    assert_eq!(outcome.asked, ["update", "install -y --no-install-recommends gcc libc6-dev"]);
}

#[test]
fn a_user_installs_through_sudo() {
    let machine = Machine::new("1000", &["make"]);
    let log = machine.top.join("asked");
    machine.add("sudo", &format!("echo \"sudo $*\" >> {}", log.display()));
    let outcome = machine.setup("demo");
    assert_eq!(outcome.code, Some(0));
    assert_eq!(
        outcome.asked,
        [
            "sudo apt-get update",
            "sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends make"
        ]
    );
}

#[test]
fn without_sudo_the_line_to_type_is_printed() {
    let outcome = Machine::new("1000", &["cc"]).setup("demo");
    assert_eq!((outcome.code, outcome.asked.len()), (Some(2), 0));
    let line = "apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev";
    assert!(outcome.said.contains(line), "{}", outcome.said);
}

#[test]
fn other_distributions_are_told_what_is_needed() {
    let outcome = Machine::new("0", &["make", "apt-get"]).setup("demo");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.said.contains("missing: make\n"), "{}", outcome.said);
    assert_eq!(Machine::new("0", &["apt-get"]).setup("demo").code, Some(0));
}

#[test]
fn without_rust_the_way_to_get_it_is_printed() {
    let outcome = Machine::new("1000", &["cargo"]).setup("demo");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.said.contains("https://sh.rustup.rs"), "{}", outcome.said);
}

#[test]
fn a_shell_from_before_rustup_finds_cargo_in_the_home() {
    let machine = Machine::new("1000", &["cargo"]);
    fs::create_dir_all(machine.top.join(".cargo/bin")).unwrap();
    let cargo = machine.top.join(".cargo/bin/cargo");
    fs::write(&cargo, "#!/bin/sh\n").unwrap();
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(machine.setup("demo").code, Some(0));
}

#[test]
fn a_stage_that_is_none_is_refused() {
    let outcome = Machine::new("0", &[]).setup("demos");
    assert_eq!(outcome.code, Some(2));
    assert!(outcome.said.starts_with("usage:"), "{}", outcome.said);
}

//! Names of groups, which say who made them: no state file is needed to find stale ones.
//!
//! `unthrottle-NS-PID-START-N`: inode of the owner's pid namespace, its pid there, its start time
//! (field 22 of `/proc/PID/stat`, clock ticks since boot) and a count of its own. A pid can be
//! given out again, a pid with its start time cannot. A name from another pid namespace is not
//! judged: its pid means nothing here.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};

/// First part of every group of ours.
const PREFIX: &str = "unthrottle-";
/// Last part of the leaf for processes that step aside.
const ASIDE: &str = "-self";

/// What a group of ours is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Holds a workload. Whatever is inside is ours to kill.
    Workload,
    /// v2: holds processes that were in the parent before and go back to it. Not ours to kill. Its
    /// being there also says that we enabled the cpu controller in the parent.
    Aside,
}

/// A group's name, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct GroupName {
    /// Inode of the owner's pid namespace.
    pub pid_ns: u64,
    /// The owner, in that namespace.
    pub pid: u32,
    /// Its start time, clock ticks since boot.
    pub start: u64,
    /// Count within the owner.
    pub n: u64,
    /// What it is for.
    pub role: Role,
}

/// What has become of a group's owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// It runs.
    Live,
    /// It has ended: the group is stale.
    Gone,
    /// It was in another pid namespace, so nothing can be said from here. (From the first namespace
    /// all others are seen, and one without processes has no owner.)
    Elsewhere,
}

/// Inode of the first pid namespace (`PROC_PID_INIT_INO`, linux/proc_ns.h): from there the processes
/// of every other one are seen.
const INITIAL_PID_NS: u64 = 0xEFFF_FFFC;

static NEXT: AtomicU64 = AtomicU64::new(0);

impl GroupName {
    /// A fresh name of this process.
    ///
    /// # Errors
    /// If `/proc/self` cannot be read.
    pub fn fresh() -> io::Result<Self> {
        let pid = std::process::id();
        let start = start_time(pid)?.ok_or(io::ErrorKind::NotFound)?;
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Self { pid_ns: pid_namespace()?, pid, start, n, role: Role::Workload })
    }

    /// The same owner and count, in another role.
    #[must_use]
    pub fn with_role(self, role: Role) -> Self {
        Self { role, ..self }
    }

    /// Reads a name. Only exactly what [`fmt::Display`] writes is one: a directory that merely looks
    /// similar is somebody else's.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        let (rest, role) = match rest.strip_suffix(ASIDE) {
            Some(rest) => (rest, Role::Aside),
            None => (rest, Role::Workload),
        };
        let mut parts = rest.split('-');
        let mut part = || parts.next()?.parse::<u64>().ok();
        let (pid_ns, pid, start, n) = (part()?, part()?, part()?, part()?);
        let name = Self { pid_ns, pid: u32::try_from(pid).ok()?, start, n, role };
        // Also refuses a fifth part, a plus sign and leading zeros.
        (name.to_string() == text).then_some(name)
    }

    /// Whether the owner still runs. `pid_ns` is the reader's own pid namespace.
    #[must_use]
    pub fn owner(&self, pid_ns: u64) -> Owner {
        if self.pid_ns != pid_ns {
            let dead = pid_ns == INITIAL_PID_NS && is_empty(self.pid_ns) == Some(true);
            return if dead { Owner::Gone } else { Owner::Elsewhere };
        }
        match start_time(self.pid) {
            Ok(Some(start)) if start == self.start => Owner::Live,
            Ok(_) => Owner::Gone,
            // /proc may hide the processes of others (hidepid); the kernel still knows them.
            Err(_) => match i32::try_from(self.pid).ok().and_then(Pid::from_raw) {
                Some(pid) if test_kill_process(pid) != Err(Errno::SRCH) => Owner::Live,
                _ => Owner::Gone,
            },
        }
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid_ns, pid, start, n, role } = self;
        let tail = match role {
            Role::Workload => "",
            Role::Aside => ASIDE,
        };
        write!(f, "{PREFIX}{pid_ns}-{pid}-{start}-{n}{tail}")
    }
}

/// Inode of this process' pid namespace.
///
/// # Errors
/// If /proc is not there.
pub fn pid_namespace() -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    // Following the link gives the namespace's own file, whose inode is its number.
    Ok(std::fs::metadata("/proc/self/ns/pid")?.ino())
}

/// Whether a pid namespace has no process left; `None` if some process will not say where it is.
fn is_empty(pid_ns: u64) -> Option<bool> {
    use std::os::unix::fs::MetadataExt;
    let number = |entry: &std::fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    // Process 1 is in the reader's own namespace, and may hide where it is even from root.
    let processes = std::fs::read_dir("/proc").ok()?.flatten().filter_map(|each| number(&each));
    for pid in processes.filter(|pid| *pid != 1) {
        match std::fs::metadata(format!("/proc/{pid}/ns/pid")) {
            Ok(meta) if meta.ino() == pid_ns => {
                // One that has ended keeps its namespace until its parent notices.
                if !matches!(start_time(pid), Ok(None)) {
                    return Some(false);
                }
            }
            Ok(_) => {}
            // It has ended meanwhile, or only waits for its parent to notice.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {}
            Err(_) => return None,
        }
    }
    Some(true)
}

/// Start time of a process; `None` if it has ended and only waits for its parent to notice.
fn start_time(pid: u32) -> io::Result<Option<u64>> {
    let stat = std::fs::read(format!("/proc/{pid}/stat"))?;
    let (state, start) =
        parse_stat(&String::from_utf8_lossy(&stat)).ok_or(io::ErrorKind::InvalidData)?;
    Ok((!matches!(state, 'Z' | 'X' | 'x')).then_some(start))
}

/// State and start time. The name before them is free text with blanks and brackets in it.
fn parse_stat(text: &str) -> Option<(char, u64)> {
    let mut fields = text[text.rfind(')')? + 1..].split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    // Field 3 was taken, field 22 is the nineteenth after it.
    let start = fields.nth(18)?.parse().ok()?;
    Some((state, start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip_and_nothing_else_parses() {
        let name =
            GroupName { pid_ns: 4_026_531_836, pid: 12, start: 3456, n: 7, role: Role::Workload };
        assert_eq!(name.to_string(), "unthrottle-4026531836-12-3456-7");
        for role in [Role::Workload, Role::Aside] {
            let name = name.with_role(role);
            assert_eq!(GroupName::parse(&name.to_string()), Some(name));
        }
        for text in [
            "",
            "unthrottle",
            "unthrottle-",
            "unthrottle-test",
            "unthrottle-1-2-3",
            "unthrottle-1-2-3-4-5",
            "unthrottle-1-2-3-04",
            "unthrottle-1-2-3-+4",
            "unthrottle-1--3-4",
            "unthrottle-1-2-3-4-",
            "unthrottle-1-2-3-4-selfish",
            "unthrottle-1-2-3-4-self-self",
            "unthrottle-1-4294967296-3-4",
            "unthrottle-1-2-3-99999999999999999999",
            "xunthrottle-1-2-3-4",
            "unthrottle-1-2-3-4.slice",
        ] {
            assert_eq!(GroupName::parse(text), None, "{text}");
        }
    }

    #[test]
    fn stat_with_an_odd_name() {
        let fields = "S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 987 20 21";
        assert_eq!(parse_stat(&format!("12 (a) b (c)) {fields}")), Some(('S', 987)));
        assert_eq!(parse_stat("12 (x"), None);
        assert_eq!(parse_stat("12 (x) S 1"), None);
    }

    #[test]
    fn owners() {
        let me = GroupName::fresh().expect("reads /proc/self");
        assert_ne!(GroupName::fresh().expect("reads /proc/self").n, me.n);
        assert_eq!(me.owner(me.pid_ns), Owner::Live);
        assert_eq!(me.owner(1), Owner::Elsewhere, "judged from a namespace that sees little");
        assert_ne!(is_empty(me.pid_ns), Some(true), "we are in it");
        assert_eq!(GroupName { start: me.start + 1, ..me }.owner(me.pid_ns), Owner::Gone);
        assert_eq!(GroupName { pid: 4_194_304, ..me }.owner(me.pid_ns), Owner::Gone);
        assert_eq!(GroupName { pid: 0, ..me }.owner(me.pid_ns), Owner::Gone);
    }

    #[test]
    fn a_zombie_owns_nothing() {
        let mut child = std::process::Command::new("true").spawn().expect("starts");
        let me = GroupName::fresh().expect("reads /proc/self");
        let start = loop {
            let text = std::fs::read_to_string(format!("/proc/{}/stat", child.id()));
            let (state, start) = parse_stat(&text.expect("not waited for yet")).expect("parses");
            if state == 'Z' {
                break start;
            }
            std::thread::yield_now();
        };
        let name = GroupName { pid: child.id(), start, ..me };
        assert_eq!(name.owner(me.pid_ns), Owner::Gone);
        child.wait().expect("waits");
    }
}

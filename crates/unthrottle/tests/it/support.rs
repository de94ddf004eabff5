//! Running the command over a tree, and waiting for its first reading.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use unthrottle_testkit::FakeTree;

/// The binary under test.
const BINARY: &str = env!("CARGO_BIN_EXE_unthrottle");

/// Longer than any of these commands may take on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a command printed and how it ended.
#[derive(Debug)]
pub struct Ran {
    /// Exit code.
    pub code: i32,
    /// stdout.
    pub out: String,
    /// stderr.
    pub err: String,
}

/// A command with its input closed and both outputs caught, in an environment of its own.
pub fn command(args: &[&str]) -> Command {
    let mut command = Command::new(BINARY);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // The width of help, and what a panic would print, must not depend on who runs the tests.
    for name in ["COLUMNS", "LINES", "RUST_BACKTRACE", "NO_COLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command
}

/// The same for the machine of a tree.
pub fn on(tree: &FakeTree, args: &[&str]) -> Command {
    let root = tree.root().display().to_string();
    let mut all = vec!["--root", &root];
    all.extend(args);
    command(&all)
}

/// Starts it.
#[track_caller]
pub fn start(mut command: Command) -> Child {
    command.spawn().expect("cannot start unthrottle")
}

/// Runs it to its end. Whatever it was given, it must not panic.
#[track_caller]
pub fn run(command: Command) -> Ran {
    finish(start(command))
}

/// Waits for its end; a failed test if it does not come.
#[track_caller]
pub fn finish(child: Child) -> Ran {
    let started = Instant::now();
    let mut child = child;
    while child.try_wait().expect("a child").is_none() {
        if started.elapsed() > PATIENCE {
            child.kill().expect("kill");
            panic!("it does not end");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    ran(child.wait_with_output().expect("output"))
}

#[track_caller]
fn ran(output: Output) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8 whatever the names are");
    let (code, out, err) = (output.status.code(), text(output.stdout), text(output.stderr));
    assert!(!err.contains("panicked"), "it panicked: {err}");
    let code = code.unwrap_or_else(|| panic!("ended by a signal: {:?}", output.status));
    assert_ne!(code, 4, "a defect: {err}");
    Ran { code, out, err }
}

/// Runs `explain TARGET ...` over a tree and makes a step between its two readings.
///
/// The first reading ends with /proc/stat. A pipe in its place holds the command there until the
/// step is made, so no time is guessed.
#[track_caller]
pub fn explain_through(
    tree: &FakeTree,
    target: &str,
    args: &[&str],
    step: impl FnOnce(&FakeTree),
) -> Ran {
    let (stat, saved) = (tree.root().join("proc/stat"), tree.root().join("saved-stat"));
    fs::rename(&stat, &saved).expect("moved away");
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &stat, rustix::fs::FileType::Fifo, mode, 0)
        .expect("a named pipe");
    let mut all = vec!["explain", target];
    all.extend(args);
    if !args.contains(&"--for") {
        all.extend(["--for", "300ms"]);
    }
    let mut child = start(on(tree, &all));
    let started = Instant::now();
    let mut pipe = loop {
        // Opens as soon as somebody reads.
        let opened = OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(&stat);
        if let Ok(pipe) = opened {
            break pipe;
        }
        if child.try_wait().expect("a child").is_some() {
            return ran(child.wait_with_output().expect("output"));
        }
        assert!(started.elapsed() < PATIENCE, "it never reads /proc/stat");
        std::thread::sleep(Duration::from_millis(1));
    };
    let text = fs::read_to_string(&saved).expect("saved");
    fs::rename(&saved, &stat).expect("moved back");
    step(tree);
    pipe.write_all(text.as_bytes()).expect("written");
    drop(pipe);
    finish(child)
}

/// Its JSON; a failed test if there is none.
#[track_caller]
pub fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out)
        .unwrap_or_else(|error| panic!("no JSON ({error}), exit {}: {}", ran.code, ran.err))
}

/// A service that used up its half core: three of eight periods.
pub fn throttled_service() -> FakeTree {
    let tree = FakeTree::v2();
    tree.group("/system.slice/web.service", |group| {
        let group = group.procs(&[7]).quota(50_000, 100_000);
        group.stat(1_000, 300, 9_000_000_000).usage_ns(5_000_000_000)
    });
    tree.process_in(7, "/system.slice/web.service", "web");
    tree
}

/// What happens to it while it is watched.
pub fn throttle(tree: &FakeTree) {
    tree.group("/system.slice/web.service", |group| {
        group.stat(1_008, 303, 9_150_000_000).usage_ns(5_300_000_000)
    });
    tree.file("proc/7/task/7/schedstat", "300000000 160000000 90\n");
}

/// Text with what differs from run to run masked: the length of the window, and all that is by it.
pub fn masked(text: &str) -> String {
    const MASKED: [&str; 6] =
        ["  window ", "  use ", "  machine ", "  stopped ", "  pressure ", "           mean use "];
    let line = |line: &str| {
        let by_length = MASKED.iter().any(|begin| line.starts_with(begin));
        if by_length || line.contains("others used") {
            mask_numbers(line).replace("cores", "core")
        } else if line.starts_with("  /") || line.starts_with("  cpuset ") {
            mask_row(line)
        } else if line.starts_with("  limits, root") || line.starts_with("  group ") {
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        } else if line.ends_with("no active period") || line.contains("watched for") {
            mask_seconds(line)
        } else {
            line.to_owned()
        }
    };
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// Of a row of levels, the share of wall-clock periods and the use are by the window's length.
fn mask_row(line: &str) -> String {
    let line = line.replace(" %", "%").replace(" ms", "ms");
    let cells: Vec<&str> = line.split_whitespace().collect();
    let (name, numbers) = cells.split_at(cells.len().saturating_sub(7));
    let shown = numbers.iter().enumerate().map(|(column, cell)| match column {
        4 | 6 => mask_numbers(cell),
        _ => (*cell).to_owned(),
    });
    format!("  {}  {}", name.join(" "), shown.collect::<Vec<_>>().join("  "))
}

/// `0.3 s` becomes `# s`.
fn mask_seconds(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let shown = words.iter().enumerate().map(|(at, word)| {
        let unit = words.get(at + 1).is_some_and(|next| next.trim_end_matches([':', ';']) == "s");
        if unit { mask_numbers(word) } else { (*word).to_owned() }
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// Every number becomes `#`, with its digits, points, dashes and colons between digits.
pub fn mask_numbers(line: &str) -> String {
    let chars: Vec<char> = line.chars().collect();
    let mut masked = String::new();
    let mut at = 0;
    while at < chars.len() {
        if chars[at].is_ascii_digit() {
            masked.push('#');
            while at < chars.len() && (chars[at].is_ascii_digit() || ".:-TZ".contains(chars[at])) {
                at += 1;
            }
        } else {
            masked.push(chars[at]);
            at += 1;
        }
    }
    masked
}

/// A document with what differs from run to run masked.
pub fn masked_json(document: &Value) -> String {
    let mut document = document.clone();
    mask(&mut document, "");
    format!("{document:#}")
}

fn mask(value: &mut Value, key: &str) {
    const MASKED: [&str; 17] = [
        "start",
        "end",
        "seconds",
        "usage_cores",
        "usage_ratio",
        "throttle_wall_ratio",
        "mean_ratio",
        "max_ratio",
        "lost_ms_per_minute_at_most",
        "busy_cores",
        "other_cores",
        "own_cores",
        "psi_some_ratio",
        "some_ratio",
        "full_ratio",
        "steal_ratio",
        "p50_ms",
    ];
    match value {
        Value::Object(map) => map.iter_mut().for_each(|(key, value)| mask(value, key)),
        Value::Array(list) => list.iter_mut().for_each(|value| mask(value, key)),
        Value::Null => {}
        other if MASKED.contains(&key) => *other = Value::String("#".to_owned()),
        Value::String(text) if text.contains("others used") || text.contains("after the begin") => {
            *text = mask_numbers(text);
        }
        _ => {}
    }
}

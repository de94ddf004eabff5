//! The published bars, measured on this machine.
//!
//! A bar is a ratio within one run where there is a peer, else the stated target. Each measures its
//! own noise: what it prints is repeated, and a verdict is refused when the machine was too busy.

mod lateness;
mod neighbour;

use std::path::{Path, PathBuf};
use std::process::Command;

/// One bar: its name and what measures it. `Ok(false)` = the target was missed.
type Bar = (&'static str, fn(&Path) -> Result<bool, String>);

const BARS: &[Bar] = &[("lateness", lateness::run)];

/// Runs the bars named in `names`, all of them if none is named. `false` if one was missed.
pub fn run(root: &Path, names: &[String]) -> bool {
    for name in names {
        if !BARS.iter().any(|(bar, _)| bar == name) {
            let known: Vec<&str> = BARS.iter().map(|(bar, _)| *bar).collect();
            eprintln!("bench: no bar is called `{name}`; there are: {}", known.join(", "));
            return false;
        }
    }
    let binary = match build(root) {
        Ok(binary) => binary,
        Err(why) => {
            eprintln!("bench: {why}");
            return false;
        }
    };
    let mut good = true;
    for (name, bar) in BARS {
        if !names.is_empty() && !names.iter().any(|each| each == name) {
            continue;
        }
        println!("==> {name}");
        match bar(&binary) {
            Ok(met) => good &= met,
            Err(why) => {
                eprintln!("bench: {name}: {why}");
                good = false;
            }
        }
    }
    good
}

fn build(root: &Path) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let built = Command::new(cargo)
        .args(["build", "--release", "--quiet", "-p", "unthrottle"])
        .current_dir(root)
        .status();
    match built {
        Ok(status) if status.success() => {
            let target = std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
            Ok(root.join(target).join("release/unthrottle"))
        }
        _ => Err("cannot build unthrottle".to_owned()),
    }
}

//! The published bars, measured on this machine.
//!
//! A bar is a ratio within one run where there is a peer. Each measures its own noise and refuses a
//! verdict when it is too high.

use std::path::Path;

/// Runs the bars named in `names`, all of them if none is named. `false` if one was missed.
pub fn run(_root: &Path, names: &[String]) -> bool {
    if let Some(name) = names.first() {
        eprintln!("bench: no bar is called `{name}`");
        return false;
    }
    println!("bench: no bars yet");
    true
}

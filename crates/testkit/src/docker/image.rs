//! The one image: empty directories, onto which the host's programs are mounted.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Engine, stdout};
use crate::must;

/// The image's name.
pub(super) const NAME: &str = "unthrottle-test";

/// Directories of the host that a dynamic binary needs.
const FROM_HOST: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib64"];

/// Gives the engine its image.
pub(super) fn import(engine: &Engine, directory: &Path) {
    let top = directory.join("image");
    for name in ["usr", "bin", "sbin", "lib", "lib64", "etc", "proc", "sys", "dev", "tmp"] {
        must(fs::create_dir_all(top.join(name)), &top.display());
    }
    let mut tar = Command::new("tar");
    tar.arg("-C").arg(&top).args(["-cf", "-", "."]).stdout(Stdio::piped());
    let mut tar = must(tar.spawn(), &"cannot start tar");
    let archive = tar.stdout.take().map_or_else(Stdio::null, Stdio::from);
    stdout(engine.client(&["import", "-", NAME]).stdin(archive));
    let status = must(tar.wait(), &"tar");
    assert!(status.success(), "tar failed: {status}");
}

/// Options of `docker run` that mount the host's programs; not every machine has every directory.
pub(super) fn mounts() -> Vec<String> {
    let present = FROM_HOST.iter().filter(|path| Path::new(path).is_dir());
    present.map(|path| format!("--volume={path}:{path}:ro")).collect()
}

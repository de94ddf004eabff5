//! A binary run by somebody without privileges.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::must;

/// The user and group that own nothing.
pub const NOBODY: u32 = 65_534;

/// A copy of a binary where [`NOBODY`] can run it; removed when it is dropped.
///
/// A copy, as the build directory is often below a home that others cannot enter.
#[derive(Debug)]
pub struct AsNobody {
    directory: TempDir,
    binary: PathBuf,
}

/// Copies `binary` and makes it runnable by nobody. Needs root: see [`gate::root`](crate::gate::root).
#[must_use]
pub fn command_as_nobody(binary: &Path) -> AsNobody {
    let directory = tempfile::Builder::new().prefix("unthrottle-nobody-").tempdir();
    let directory = must(directory, &"cannot make a temporary directory");
    let copy = directory.path().join(binary.file_name().unwrap_or("binary".as_ref()));
    // By another process: a file that this one has open for writing is inherited by whatever other
    // tests start meanwhile, and cannot be run as long as they have it (ETXTBSY).
    let copied = Command::new("cp").arg(binary).arg(&copy).status();
    assert!(must(copied, &"cp").success(), "cannot copy {}", binary.display());
    must(fs::set_permissions(&copy, Permissions::from_mode(0o755)), &copy.display());
    let owned = std::os::unix::fs::chown(directory.path(), Some(NOBODY), Some(NOBODY));
    must(owned, &"cannot give the directory away");
    AsNobody { directory, binary: copy }
}

impl AsNobody {
    /// A command of the copy as 65534:65534 without further groups, in [`AsNobody::directory`].
    #[must_use]
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.binary);
        // The standard library drops the supplementary groups too when root gives a user.
        command.uid(NOBODY).gid(NOBODY).current_dir(self.directory()).env("HOME", self.directory());
        command
    }

    /// The working directory, which belongs to the user of the command: output may go there.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::require;

    #[test]
    fn the_copy_runs_as_nobody_with_no_groups() {
        require!(root);
        let nobody = command_as_nobody(Path::new("/usr/bin/id"));
        let said = |argument: &str| {
            let output = nobody.command().arg(argument).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        assert_eq!(said("-u"), "65534");
        assert_eq!(said("-G"), "65534");
    }

    #[test]
    fn nobody_can_write_in_the_directory_only() {
        require!(root);
        let nobody = command_as_nobody(Path::new("/usr/bin/touch"));
        assert!(nobody.command().arg("here").status().unwrap().success());
        assert!(!nobody.command().arg("/etc/unthrottle-test").output().unwrap().status.success());
    }
}

//! CPU-busy processes beside a measurement, ended when the value is dropped.

use std::process::{Child, Command, Stdio};

/// One busy process for each CPU, at ordinary priority.
pub struct Neighbour(Vec<Child>);

impl Neighbour {
    /// Starts them. Each ends by itself after two minutes, should nobody be left to end it.
    pub fn start() -> Result<Self, String> {
        let cpus = std::thread::available_parallelism().map_or(1, usize::from);
        let mut neighbour = Self(Vec::new());
        for _ in 0..cpus {
            let child = Command::new("timeout")
                .args(["-s", "KILL", "120", "sh", "-c", "while :; do :; done"])
                .stdin(Stdio::null())
                .spawn()
                .map_err(|error| format!("cannot start a neighbour: {error}"))?;
            neighbour.0.push(child);
        }
        Ok(neighbour)
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // `timeout` passes SIGTERM on to what it runs; SIGKILL would leave that behind.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
    }
}

//! `top`: every limited group of the host, worst first.

use unthrottle_analysis::rank::rank;
use unthrottle_report::contract;
use unthrottle_source::classify::{Runtime, classify};
use unthrottle_source::mounts::CgroupFs;
use unthrottle_source::sweep::Sweep;
use unthrottle_source::{Root, Stop, host, monotonic_ns, open_files};

use super::print;
use crate::cli::Exit;
use crate::cli::args::{Format, Top};
use crate::error::{EncodeError, Error};

/// Runs it. Ctrl-C ends a repeated table, and cuts a single one short.
///
/// # Errors
/// If there are no cgroups here.
pub fn run(root: &Root, options: &Top, stop: &Stop) -> Result<Exit, Error> {
    let fs = CgroupFs::discover(root)?;
    open_files::raise();
    loop {
        let mut sweep = Sweep::open(&fs);
        sweep.read();
        let begin_ns = monotonic_ns();
        let cut = stop.sleep_until(monotonic_ns() + options.for_ns);
        if cut && !options.once {
            return Ok(Exit::Fine);
        }
        sweep.read();
        let seconds = (monotonic_ns() - begin_ns) as f64 / 1e9;
        let host = host::facts(root);
        let name = |path: &str| {
            let identity = classify(path);
            (identity.runtime != Runtime::Unknown)
                .then(|| (identity.name, identity.runtime.word().to_owned()))
        };
        let document = contract::top(
            &rank(&sweep.rows),
            (sweep.unlimited, sweep.unreadable),
            seconds,
            &host,
            name,
        );
        let read_on = print(&match options.format {
            Format::Text => unthrottle_report::text::top(&document),
            Format::Json => unthrottle_report::json(&document).map_err(EncodeError)?,
        })?;
        if options.once || !read_on {
            return Ok(if sweep.unreadable > 0 { Exit::NotMeasured } else { Exit::Fine });
        }
    }
}

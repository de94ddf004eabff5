//! `explain`: watch, then say what the limit did.

use std::path::Path;

use unthrottle_analysis::Verdict;
use unthrottle_model::requests::{RequestRow, from_csv};
use unthrottle_model::rows::LossRow;
use unthrottle_model::units::show_span;
use unthrottle_source::{Root, Stop};

use super::{FailOn, print};
use crate::cli::Exit;
use crate::cli::args::{Explain, Format};
use crate::cli::output::talk;
use crate::cli::progress::Progress;
use crate::error::{EncodeError, Error};
use crate::files;
use crate::session;

/// Runs it.
///
/// # Errors
/// If the target is not found, or a file of requests cannot be read.
pub fn run(root: &Root, options: &Explain, stop: &Stop) -> Result<Exit, Error> {
    if let Some(file) = &options.requests {
        // Found out now, not after the watch. The load may begin later, so an empty file is fine.
        read_requests(file)?;
    }
    if matches!(options.fail_on, Some(FailOn::P99(_))) && options.requests.is_none() {
        return Err(Error::user(
            "`--fail-on p99=...` needs the latencies of requests",
            "load it with `unthrottle lab load URL --requests FILE` and add `--requests FILE`",
        ));
    }
    let (fs, target) = session::find(root, &options.target)?;
    let progress = Progress::new("watching", options.for_ns);
    let mut recording =
        session::watch(&fs, &target, options.for_ns, stop, |seen_ns| progress.at(seen_ns))?;
    drop(progress);
    if let Some(file) = &options.requests {
        recording.rows.requests = read_requests(file)?;
    }
    let explanation = unthrottle_analysis::explain(&recording);
    let mut document = unthrottle_report::contract::explain(&explanation);
    if options.requests.is_some() && explanation.requests.is_none() {
        let loss = LossRow {
            field: "requests".to_owned(),
            reason: "the file has no request that was due in the window".to_owned(),
            hint: "run `lab load` on this machine while `explain` watches".to_owned(),
        };
        unthrottle_report::contract::replace_loss(&mut document, &loss);
    }
    print(&match options.format {
        Format::Text => unthrottle_report::text::explain(&document),
        Format::Json => unthrottle_report::json(&document).map_err(EncodeError)?,
    })?;
    Ok(match options.fail_on.map(|condition| condition.met(&explanation)) {
        Some(Some(true)) => {
            talk(&format!("exit 1: {}\n", explanation_of(options.fail_on)));
            Exit::Finding
        }
        Some(None) => {
            talk("exit 3: what `--fail-on` asks for was not measured\n");
            Exit::NotMeasured
        }
        _ if explanation.verdict == Verdict::NotMeasured => Exit::NotMeasured,
        _ => Exit::Fine,
    })
}

fn explanation_of(condition: Option<FailOn>) -> String {
    match condition {
        Some(FailOn::ThrottleRate(rate)) => {
            format!("throttled in at least {} % of active periods", rate * 100.0)
        }
        Some(FailOn::P99(limit_ns)) => format!("p99 is at least {}", show_span(limit_ns)),
        _ => "throttled".to_owned(),
    }
}

fn read_requests(file: &Path) -> Result<Vec<RequestRow>, Error> {
    let text = files::read(file)?;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    from_csv(&text).map_err(|error| {
        Error::user(
            format!("`{}` is not a file of requests: {error}", file.display()),
            "write one with `unthrottle lab load URL --requests FILE`",
        )
    })
}

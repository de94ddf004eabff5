//! `demo`: see it happen. The same arrivals at half a core and at a whole one.

use unthrottle_analysis::compare::PUBLISHED;
use unthrottle_analysis::explain;
use unthrottle_model::Quota;
use unthrottle_model::arrivals::Arrivals;
use unthrottle_model::units::{MS, show_span};
use unthrottle_report::contract;
use unthrottle_source::Stop;

use super::print;
use crate::cli::Exit;
use crate::cli::args::{Demo, Format};
use crate::cli::output::talk;
use crate::cli::progress::Progress;
use crate::error::{EncodeError, Error};
use crate::experiment::{self, Setting};

/// CPU time per request, ns.
const COST_NS: i64 = 20 * MS;
/// Threads of the service.
const WORKERS: usize = 4;
/// Arrivals a second.
const RATE_PER_S: f64 = 10.0;
/// The kernel's usual period, us.
const PERIOD_US: u64 = 100_000;

/// Runs it.
///
/// # Errors
/// If no group can be made here, or the service does not start.
pub fn run(options: &Demo, stop: &Stop) -> Result<Exit, Error> {
    let arrivals = Arrivals::Poisson { per_s: RATE_PER_S };
    let schedule = arrivals.schedule(options.seed, options.for_ns, None)?;
    talk(&format!(
        "a service with {WORKERS} workers that needs {} of CPU per request, {} requests in {} \
         ({arrivals}, seed {})\n",
        show_span(COST_NS),
        schedule.len(),
        show_span(options.for_ns),
        options.seed
    ));
    let mut runs = Vec::new();
    let mut removed = Vec::new();
    for published in PUBLISHED {
        let limit = published.limit_cores;
        let what =
            format!("{} at a limit of {}", runs.len() + 1, unthrottle_report::text::cores(limit));
        talk(&format!("run {what}\n"));
        let setting = Setting {
            limit: Some(Quota {
                quota_us: (limit * PERIOD_US as f64).round() as u64,
                period_us: PERIOD_US,
                burst_us: 0,
            }),
            workers: WORKERS,
            cost_ns: COST_NS,
            schedule: schedule.clone(),
            for_ns: options.for_ns,
        };
        let progress = Progress::new(&format!("run {what}"), options.for_ns);
        let outcome = experiment::run(&setting, stop, |seen_ns| progress.at(seen_ns))?;
        drop(progress);
        let Some(mut outcome) = outcome else {
            talk("interrupted: the group and the service are removed\n");
            return Ok(Exit::Interrupted);
        };
        removed.extend(outcome.removed.groups.iter().map(|path| path.display().to_string()));
        outcome.recording.meta.target.name = "demo service".to_owned();
        let mut document = contract::explain(&explain(&outcome.recording));
        // The demo takes the next step itself, and the group is gone by now.
        document.findings.iter_mut().for_each(|finding| finding.next_step = None);
        if runs.is_empty() && options.format == Format::Text {
            print(&format!("\n{}\n", unthrottle_report::text::explain(&document)))?;
        }
        runs.push(document);
    }
    let document = contract::demo(contract::DemoFacts {
        arrivals: arrivals.to_string(),
        seed: options.seed,
        workers: WORKERS,
        cost_ms: COST_NS as f64 / 1e6,
        seconds: options.for_ns as f64 / 1e9,
        runs,
        removed,
    });
    print(&match options.format {
        Format::Text => unthrottle_report::text::demo(&document),
        Format::Json => unthrottle_report::json(&document).map_err(EncodeError)?,
    })?;
    Ok(Exit::Fine)
}

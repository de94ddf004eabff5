//! A bar for what takes longer than two seconds, on a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// A bar of seconds on stderr. Hidden for short work and where stderr is no terminal.
#[derive(Debug)]
pub struct Progress {
    bar: ProgressBar,
}

impl Progress {
    /// For work of `total_ns`, called `what`.
    #[must_use]
    pub fn new(what: &str, total_ns: i64) -> Self {
        let bar = ProgressBar::new(total_ns.unsigned_abs() / 1_000_000);
        if total_ns <= 2_000_000_000 {
            bar.set_draw_target(ProgressDrawTarget::hidden());
        } else {
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        if let Ok(style) = ProgressStyle::with_template("{msg} [{bar:40}] {elapsed} of {total}") {
            let total = unthrottle_model::units::show_span(total_ns);
            let style = style
                .with_key(
                    "total",
                    move |_: &indicatif::ProgressState, out: &mut dyn std::fmt::Write| {
                        let _ = out.write_str(&total);
                    },
                )
                .progress_chars("=> ");
            bar.set_style(style);
        }
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(500));
        Self { bar }
    }

    /// Shows that this much is done.
    pub fn at(&self, done_ns: i64) {
        self.bar.set_position(done_ns.max(0).unsigned_abs() / 1_000_000);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

//! Open-loop load over HTTP/1.x.
//!
//! Requests leave when the schedule says, whatever the server does: no send ever waits for a
//! response. A server that stops therefore shows its whole stop in the latencies, and not one slow
//! request where a closed loop would have gone quiet. What goes wrong with a request is a row with
//! its [`Outcome`](unthrottle_model::requests::Outcome); an error is returned only where no load
//! can be made at all.
//!
//! Pacing happens on a thread of its own, which allocates almost nothing, takes no lock that
//! another thread holds for long, and never touches a file. Finished rows go to the caller's thread
//! about once a second, so that a slow disk delays nobody's request.

mod body;
mod conn;
mod error;
mod exchange;
mod hdr;
mod pacer;
mod plan;
mod poll;
mod pool;
mod response;
mod rows;
mod run;
mod socket;
mod url;

pub use error::{LoadError, UrlError};
pub use hdr::{HdrError, hdr_log};
pub use plan::{Connections, LoadPlan};
pub use run::{LoadRun, Problem, run};
pub use url::Url;

#[cfg(test)]
mod tests;

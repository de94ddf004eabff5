//! `doctor`: what this host lets us see.

use unthrottle_source::{Root, capabilities};

use super::print;
use crate::cli::Exit;
use crate::cli::args::{Doctor, Format};
use crate::error::{EncodeError, Error};

/// Runs it. That something is missing is an answer, not a failure.
///
/// # Errors
/// If stdout cannot be written.
pub fn run(root: &Root, options: &Doctor) -> Result<Exit, Error> {
    let document = unthrottle_report::contract::doctor(&capabilities::probe(root));
    print(&match options.format {
        Format::Text => unthrottle_report::text::doctor(&document),
        Format::Json => unthrottle_report::json(&document).map_err(EncodeError)?,
    })?;
    Ok(if document.hierarchy.is_some() { Exit::Fine } else { Exit::NotMeasured })
}

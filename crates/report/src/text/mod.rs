//! Text for a terminal: at most 100 columns, read top-down, plain characters.

mod doctor;
mod explain;
mod parts;

pub use doctor::doctor;
pub use explain::explain;
pub use parts::{clean, cores, percent};

//! Text for a terminal: at most 100 columns, read top-down, plain characters.

mod demo;
mod doctor;
mod explain;
mod load;
mod parts;
mod top;

pub use demo::demo;
pub use doctor::doctor;
pub use explain::explain;
pub use load::load;
pub use parts::{clean, cores, many, percent};
pub use top::top;

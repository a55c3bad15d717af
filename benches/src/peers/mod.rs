//! The verb `run-bench peers`: gleann beside other systems, on the same data, in alternating rounds.

mod command;
mod contender;
mod matched;
mod python;
mod report;
mod rounds;

pub use command::{PeersArgs, run};
pub use matched::at_recall;

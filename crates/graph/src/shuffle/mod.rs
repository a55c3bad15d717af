//! PageShuffle: which nodes share a page, so that one read brings several a search wants (Starling's block
//! shuffling; here the result is an order, by which an index is renumbered).

mod fill;
mod grow;
mod parts;
mod plan;
mod queue;
mod run;
mod symmetric;

pub use fill::page_mates;
pub use plan::ShufflePlan;
pub use run::{ShuffleError, Shuffled};

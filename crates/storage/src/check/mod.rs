//! Reads everything an index consists of and says what is wrong with it.

mod graph;
mod index;
mod mem_graph;
mod postings;

pub use index::{CentroidCounts, CheckReport, LISTED_PROBLEMS, Problem, check_index};

use index::file_name;

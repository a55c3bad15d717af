//! The changes axis: an index that is changed while it is searched.
//!
//! A search takes the [`View`] there is when it begins and keeps it to its end. A view is the page table of the last
//! checkpoint, which says where each block lies, and the overlays of what has changed since: whole records of nodes
//! that are not on disk yet, and edges that joined lists. What is deleted is marked in the node table: still walked
//! through, never a result.

mod node_table;
mod overlay;
mod view;

pub use node_table::{NodeState, NodeTable};
pub use overlay::{Link, Overlay, join, room};
pub use view::{Changes, Unmerged, Version, View, Written};

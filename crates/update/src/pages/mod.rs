//! The shadow page store: a live index in one block file, of which no block is ever written over while someone may
//! read it.
//!
//! `graph.gln` holds blocks, `table.gln` says which block of the index lies in which of them ([`PageTable`]). A
//! checkpoint is a [`Commit`]: it writes changed blocks to free places, makes them durable, and then replaces the table
//! by rename. A crash at any operation leaves the old table or the new one, and both name whole blocks.
//!
//! | file | what it decides |
//! | --- | --- |
//! | `store` | the open store: the table in force, reads, figures |
//! | `commit` | one checkpoint, from the first block to the switch |
//! | `switch` | how one table file replaces another, and from where on the outcome is unknown |
//! | `space` | which places are free, held by readers, in use; growth and shrinking of the file |
//! | `write_buffer` | neighbouring blocks as one write |
//! | `block_file` | the file itself |
//! | `copy` | a compact copy as a snapshot |
//!
//! [`PageTable`]: gleann_storage::PageTable

mod block_file;
mod commit;
mod copy;
mod error;
mod space;
mod store;
mod switch;
mod write_buffer;

pub use commit::Commit;
pub use error::PagesError;
pub use store::{Pages, PagesPlace, TABLE_NAME};

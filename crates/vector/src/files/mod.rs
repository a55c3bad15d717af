//! Vector files: formats of the field, checked against their real length before anything is believed.

mod atomic;
mod crop;
mod error;
mod format;
mod ivecs;
mod keys;
mod mapped;
mod npy;
mod open;
mod probe;
mod raw;
mod rows;
mod writer;

pub(crate) use atomic::AtomicFile;
pub(crate) use format::suffix_of;
pub(crate) use ivecs::{IdRows, read_ivecs, write_ivecs};
pub(crate) use raw::RawFile;

pub use crop::crop_big_ann;
pub use error::{FileError, FileProblem};
pub use format::FileFormat;
pub use keys::{read_keys, write_keys};
pub use mapped::MappedRows;
pub use open::VectorFile;
pub use rows::FileRows;
pub use writer::VectorWriter;

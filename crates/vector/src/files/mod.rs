//! Vector files.

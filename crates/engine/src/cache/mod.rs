//! Which records an open index holds in memory, and how they are loaded.

mod load;
mod policy;

pub(crate) use load::load_cache;
pub use policy::{CachePolicy, CacheSize};

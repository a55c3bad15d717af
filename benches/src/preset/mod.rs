//! Presets: the systems of the design space as values. A preset says how an index is built and how it is searched.

mod embedded;
mod file;
mod fitness;
mod recipe;
mod workshop;

pub use file::Preset;
pub use fitness::Built;
pub use recipe::{Recipe, System};
pub use workshop::{Workshop, sharing};

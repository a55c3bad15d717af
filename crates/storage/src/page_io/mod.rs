//! The seam to the disk, and the simplest of what stands behind it.

mod instant;
mod seam;

pub use instant::{InstantIo, InstantSource};
pub use seam::{PageIo, RawCompletion, RawRead};

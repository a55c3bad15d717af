//! The gleann command line.
fn main() {}

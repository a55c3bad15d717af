//! A live index against a model (a map and brute force), on the simulated volume: random operations, crashes and failures
//! at every operation of the disk.

mod fresh;
mod model;
mod odin;
mod world;

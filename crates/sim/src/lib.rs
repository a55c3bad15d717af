//! What updates in the stalls of searches are worth on machines that are not at hand: the scheduler of `gleann-lios`, in
//! virtual time, between modelled searches, updates and an SSD. `docs/design/simulator.md` says what is modelled.
//!
//! Invariant: the same setup, costs and seed give the same report; time passes for modelled work only.

mod arm;
mod core_work;
mod costs;
mod device;
mod distribution;
mod held;
mod phase;
mod processor;
mod random;
mod report;
mod search_core;
mod setup;
mod shared;
mod slot;
mod task;
mod updater;
mod world;

pub use arm::{Arm, Share};
pub use costs::{BadCost, Costs, DegreeCosts, Interference, SearchCosts, UpdateCosts};
pub use device::{Device, DeviceCosts};
pub use distribution::Distribution;
pub use phase::simulate;
pub use processor::Processor;
pub use random::Random;
pub use report::{Compared, Report, TracePart};
pub use setup::{BadSetup, Setup, Traversal};

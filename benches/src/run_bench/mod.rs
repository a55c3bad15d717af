//! Measurements: of an index, of an experiment's points, of the disk.

mod command;
mod device;
mod experiment;
mod facts;
mod fio;
mod load;
mod measure;
mod presets;
mod section;
mod table;
mod workload;

pub use command::{Job, Point, RunBenchArgs, points, positive, run, run_job};
pub use facts::{environment, load_average};
pub use load::{Load, wake_punctually};
pub use measure::measure;
pub use section::Section;
pub use table::optional;

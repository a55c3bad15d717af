//! `run-bench reproduce lios-…`: the study of LIOS as commands. An experiment file names cases, each of which is a run of
//! `run-bench updates` on this machine or of `run-bench simulate` with its arms, the paper's own numbers, and the claims
//! that are held against what comes out.

mod case;
mod claim;
mod command;
mod embedded;
mod figures;
mod line;
mod measure;
mod report;
mod runs;
mod study;

pub use command::run;

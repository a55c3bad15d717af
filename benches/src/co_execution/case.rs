//! A case: the flags of a run of `run-bench updates` or `run-bench simulate`, and of its arms.

use crate::simulate::SimulateArgs;
use crate::updates::UpdatesArgs;
use anyhow::{Context, Result, ensure};
use clap::Parser;
use serde::Deserialize;
use std::path::Path;

/// R of the index where a case does not name one.
const DEGREE: u32 = 64;

/// The form of a case in its file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RawCase {
    name: String,
    measured: Option<String>,
    degree: Option<u32>,
    simulated: Option<String>,
    costs: Option<String>,
    derived_from: Option<String>,
    device: Option<String>,
    #[serde(default, rename = "arm")]
    arms: Vec<Arm>,
}

/// An arm of a case.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// Flags that are its own. In a simulation the first arm has none: searching cores only search.
    pub flags: String,
}

/// A case of an experiment.
#[derive(Debug)]
pub struct Case {
    /// Its name.
    pub name: String,
    /// How it is run.
    pub way: Way,
    /// Flags that all arms have.
    pub flags: String,
    /// Its arms. The others are held against the first.
    pub arms: Vec<Arm>,
}

/// How a case is run.
#[derive(Debug, PartialEq, Eq)]
pub enum Way {
    /// On this machine, on an index of this R.
    Measured {
        /// R.
        degree: u32,
    },
    /// In virtual time.
    Simulated {
        /// Costs: those that are built in, or the name of a file of costs in the repository.
        costs: Option<String>,
        /// The measured case that costs of searches and updates are derived from.
        derived_from: Option<String>,
        /// Costs whose SSD takes the place.
        device: Option<String>,
    },
}

/// A command line of its own for each kind of run: what clap reads the flags with. Of flags given twice the last one holds: an
/// arm's own.
#[derive(Parser)]
#[command(args_override_self = true)]
struct Updates {
    #[command(flatten)]
    args: UpdatesArgs,
}

#[derive(Parser)]
#[command(args_override_self = true)]
struct Simulation {
    #[command(flatten)]
    args: SimulateArgs,
}

/// What a measured case runs on.
#[derive(Debug, Clone)]
pub struct Ground<'a> {
    /// The index.
    pub index: &'a Path,
    /// Its vectors and those to come.
    pub base: &'a Path,
    /// The queries.
    pub query: &'a Path,
    /// Flags for the amounts of updates.
    pub amounts: &'a str,
}

impl Case {
    /// Takes a case as its file has it.
    ///
    /// # Errors
    /// It is neither measured nor simulated or both, has no arms, or flags are wrong.
    pub fn new(raw: RawCase) -> Result<Self> {
        let name = raw.name.clone();
        Self::read(raw).with_context(|| format!("case `{name}`"))
    }

    fn read(raw: RawCase) -> Result<Self> {
        let of_simulation = [&raw.costs, &raw.derived_from, &raw.device].iter().any(|key| key.is_some());
        let (way, flags) = match (raw.measured, raw.simulated) {
            (Some(flags), None) => {
                ensure!(!of_simulation, "costs, derived_from and device are of simulated cases");
                (Way::Measured { degree: raw.degree.unwrap_or(DEGREE) }, flags)
            }
            (None, Some(flags)) => {
                ensure!(raw.degree.is_none(), "the R of a simulated case is a flag of it");
                let (costs, derived_from, device) = (raw.costs, raw.derived_from, raw.device);
                (Way::Simulated { costs, derived_from, device }, flags)
            }
            _ => anyhow::bail!("expected either measured or simulated"),
        };
        ensure!(!raw.arms.is_empty(), "no arms");
        let case = Self { name: raw.name, way, flags, arms: raw.arms };
        for (at, arm) in case.arms.iter().enumerate() {
            ensure!(case.arms[..at].iter().all(|other| other.name != arm.name), "arm `{}` twice", arm.name);
            case.check_arm(at).with_context(|| format!("arm `{}`", arm.name))?;
        }
        Ok(case)
    }

    fn check_arm(&self, at: usize) -> Result<()> {
        if self.is_measured() {
            let nowhere = Path::new("-");
            let ground = Ground { index: nowhere, base: nowhere, query: nowhere, amounts: "" };
            let args = self.updates(&self.arms[at], &ground)?;
            ensure!(args.arms().len() == 1, "names {} ways; expected one", args.arms().len());
            return Ok(());
        }
        if at == 0 {
            ensure!(
                self.arms[at].flags.is_empty(),
                "the first arm of a simulation is without LIOS, and has no flags"
            );
            return Ok(());
        }
        let ways = self.simulation(&self.arms[at])?.ways();
        ensure!(ways == 1, "names {ways} simulations; expected one");
        Ok(())
    }

    /// Whether it is run on this machine.
    pub fn is_measured(&self) -> bool {
        self.degree().is_some()
    }

    /// R of the index of a measured case.
    pub fn degree(&self) -> Option<u32> {
        match self.way {
            Way::Measured { degree } => Some(degree),
            Way::Simulated { .. } => None,
        }
    }

    /// The measured case that costs are derived from.
    pub fn derived_from(&self) -> Option<&str> {
        match &self.way {
            Way::Simulated { derived_from, .. } => derived_from.as_deref(),
            Way::Measured { .. } => None,
        }
    }

    /// The arguments of `run-bench updates` for an arm.
    ///
    /// # Errors
    /// Flags are wrong.
    pub fn updates(&self, arm: &Arm, ground: &Ground<'_>) -> Result<UpdatesArgs> {
        let words = [ground.amounts, self.flags.as_str(), arm.flags.as_str()];
        let words = words.iter().flat_map(|flags| flags.split_whitespace()).map(std::ffi::OsString::from);
        let files = [("--index", ground.index), ("--base", ground.base), ("--query", ground.query)];
        let files = files.into_iter().flat_map(|(flag, path)| [flag.into(), path.as_os_str().to_owned()]);
        let line = std::iter::once("updates".into()).chain(files).chain(words);
        Ok(Updates::try_parse_from(line)?.args)
    }

    /// The arguments of `run-bench simulate` for an arm.
    ///
    /// # Errors
    /// Flags are wrong.
    pub fn simulation(&self, arm: &Arm) -> Result<SimulateArgs> {
        let words = [self.flags.as_str(), arm.flags.as_str()];
        let words = words.iter().flat_map(|flags| flags.split_whitespace());
        Ok(Simulation::try_parse_from(std::iter::once("simulate").chain(words))?.args)
    }
}

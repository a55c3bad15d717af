//! The verb `dataset` and its arguments.

use super::catalogue::Catalogue;
use super::{get, list, verify};
use std::path::PathBuf;

/// Arguments of `dataset`.
#[derive(Debug, clap::Args)]
pub struct DatasetArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// List the data sets, or tell all about one
    List {
        /// A data set; without it, a table of all
        name: Option<String>,
    },
    /// Make or download a data set, or a slice of it
    Get(GetArgs),
    /// Check shapes, checksums and ground truth of what was made or downloaded
    Verify(VerifyArgs),
}

/// Arguments of `dataset get`.
#[derive(Debug, clap::Args)]
pub struct GetArgs {
    /// A name from `dataset list`
    pub name: String,
    /// Folder for the sets; the set goes into DIR/NAME, packages and Python into DIR/.cache and DIR/.venv
    #[arg(long, default_value = "data", value_name = "DIR")]
    pub dir: PathBuf,
    /// Only the first N base rows, with a ground truth of their own
    #[arg(long, value_name = "N")]
    pub rows: Option<u64>,
    /// Do not compute a ground truth where none is published for these rows
    #[arg(long)]
    pub no_truth: bool,
}

/// Arguments of `dataset verify`.
#[derive(Debug, clap::Args)]
pub struct VerifyArgs {
    /// A name from `dataset list`; without it, every set found in DIR and the embedded samples
    pub name: Option<String>,
    /// The folder given to `dataset get`
    #[arg(long, default_value = "data", value_name = "DIR")]
    pub dir: PathBuf,
    /// The slice of the first N base rows
    #[arg(long, value_name = "N", requires = "name")]
    pub rows: Option<u64>,
}

/// Runs the verb.
///
/// # Errors
/// The set is unknown, cannot be obtained or is not what it should be.
pub fn run(args: DatasetArgs) -> anyhow::Result<()> {
    let catalogue = Catalogue::load()?;
    match args.action {
        Action::List { name: None } => print!("{}", list::table(&catalogue)),
        Action::List { name: Some(name) } => print!("{}", list::details(catalogue.find(&name)?)),
        Action::Get(args) => get::run(&catalogue, &args)?,
        Action::Verify(args) => verify::run(&catalogue, &args)?,
    }
    Ok(())
}

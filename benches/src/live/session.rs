//! An index of one's own to be changed: a copy, made live, with the vectors it was made of.

use super::args::LiveArgs;
use super::row::Setup;
use super::{Asked, Bench, ChangingTruth, Choice, FoundTruth, LiveSet, TRUTH_DEPTH, TruthQuestion};
use crate::progress::Console;
use anyhow::{Context, Result, ensure};
use gleann::{Element, Index, VectorFile, make_live};
use gleann_vector::{FileRows, Matrix, RowSource};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Vectors of the index that are held against the base.
const HELD: u64 = 1000;

/// Where a workload finds what it needs.
#[derive(Debug, Clone, clap::Args)]
pub struct SessionArgs {
    /// Index folder, static or live; it is copied first and stays as it is
    #[arg(long, value_name = "DIR")]
    pub index: PathBuf,
    /// The vectors that it was built over, and after them those that are inserted; row numbers are its keys
    #[arg(long, value_name = "FILE")]
    pub base: PathBuf,
    /// Query vectors
    #[arg(long, value_name = "FILE")]
    pub query: PathBuf,
    /// Seed of what is deleted
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// File that result lines are appended to
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Folder in which the copy is made [default: that of the index]
    #[arg(long, value_name = "DIR")]
    pub work: Option<PathBuf>,
    /// Keep the copy
    #[arg(long)]
    pub keep: bool,
}

/// An open index that may be changed, and its vectors.
#[derive(Debug)]
pub struct Session<T: Element> {
    /// The copy.
    pub index: Index,
    /// Vectors by row.
    pub base: FileRows<T>,
    /// The queries.
    pub queries: Matrix<T>,
    /// What every line says.
    pub setup: Setup,
    /// Rows 0 up to here are in the index.
    pub live: u32,
    folder: Folder,
}

/// A folder that goes with the run, or stays.
#[derive(Debug)]
pub struct Folder {
    /// The index in it.
    pub index: PathBuf,
    /// Removed when dropped, unless kept.
    whole: Option<TempDir>,
}

impl Folder {
    /// A new folder below `parent`, for an index that is to be made in it.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn new(parent: &Path, keep: bool) -> Result<Self> {
        std::fs::create_dir_all(parent).with_context(|| format!("making {}", parent.display()))?;
        let made = tempfile::Builder::new().prefix("live-").tempdir_in(parent);
        let made = made.with_context(|| format!("making a folder in {}", parent.display()))?;
        let index = made.path().join("index");
        if keep {
            println!("the changed index stays in {}", index.display());
            drop(made.keep());
            return Ok(Self { index, whole: None });
        }
        Ok(Self { index, whole: Some(made) })
    }

    /// The folder around the index.
    pub fn around(&self) -> &Path {
        self.whole.as_ref().map_or_else(|| self.index.parent().unwrap_or(&self.index), TempDir::path)
    }
}

impl<T: Element> Session<T> {
    /// Copies the index, makes the copy live where it is not, opens it, and makes sure that it holds the first rows of the
    /// base.
    ///
    /// # Errors
    /// Something cannot be read or copied, does not fit, or is no index of these vectors.
    pub fn open(args: &SessionArgs, live: &LiveArgs) -> Result<Self> {
        let (base, queries) = vectors::<T>(&args.base, &args.query)?;
        let parent = args.index.parent().filter(|parent| !parent.as_os_str().is_empty());
        let parent = args.work.as_deref().or(parent).unwrap_or(Path::new("."));
        let folder = Folder::new(parent, args.keep)?;
        copy_folder(&args.index, &folder.index)?;
        let mut index = Index::open(&folder.index, live.open_options())?;
        if index.live_stats().is_none() {
            let backend = live.backend()?;
            drop(index);
            make_live(&folder.index, backend)?;
            index = Index::open(&folder.index, live.open_options())?;
        }
        let setup = live.setup(&index)?;
        let count = index.live_stats().map_or(0, |stats| stats.figures.live);
        hold(&index, &base, count).with_context(|| args.index.display().to_string())?;
        Ok(Self { index, base, queries, setup, live: count as u32, folder })
    }

    /// The exact neighbours of the queries among the vectors that are in the index, deep enough to be
    /// followed through changes; from what was `found` of it before, if it was. Ends the progress on the console.
    ///
    /// # Errors
    /// The base cannot be read.
    pub fn truth<'a>(
        &'a self,
        live: &LiveArgs,
        found: Option<FoundTruth>,
        console: &'a Console,
    ) -> Result<ChangingTruth<'a, T>> {
        let question = TruthQuestion {
            base: &self.base,
            queries: &self.queries,
            metric: self.index.info().metric,
            depth: TRUTH_DEPTH.max(live.k as usize),
        };
        let live = || LiveSet::of_rows(self.live.into(), self.base.rows());
        let truth = match found {
            Some(found) => Ok(ChangingTruth::from_found(question, found, console)),
            None => ChangingTruth::new(question, live(), console),
        };
        console.end();
        truth
    }

    /// The index under the load of `live`.
    ///
    /// # Errors
    /// The searches asked for are none.
    pub fn bench(&self, live: &LiveArgs) -> Result<Bench<'_, T>> {
        let asked = Asked {
            queries: &self.queries,
            k: live.k as usize,
            options: live.search_options()?,
            clients: live.search_clients(),
            arrivals: live.arrivals(),
        };
        Ok(Bench { target: &self.index, base: &self.base, asked, update_clients: live.update_clients() })
    }

    /// Who is deleted.
    pub fn choice(&self, seed: u64) -> Choice {
        Choice::new(self.live, self.base.rows() as u32, seed)
    }

    /// The folder of the copy.
    pub fn folder(&self) -> &Folder {
        &self.folder
    }
}

/// Base and queries, which must fit each other.
///
/// # Errors
/// A file cannot be read, or they do not fit.
pub fn vectors<T: Element>(base: &Path, query: &Path) -> Result<(FileRows<T>, Matrix<T>)> {
    let rows = VectorFile::open(base)?.source::<T>()?;
    let queries: Matrix<T> =
        VectorFile::open(query)?.read_all().context("the queries do not fit the base")?;
    ensure!(
        queries.dim() == rows.dim() && queries.rows() > 0,
        "{}: {} queries of {} dimensions; expected at least one, of {} as in {}",
        query.display(),
        queries.rows(),
        queries.dim(),
        rows.dim(),
        base.display()
    );
    ensure!(
        rows.rows() < u64::from(u32::MAX),
        "{}: {} rows; at most {} can be told apart",
        base.display(),
        rows.rows(),
        u32::MAX - 1
    );
    Ok((rows, queries))
}

/// Makes sure that an index holds the first `count` rows of the base under their numbers, by some of them.
fn hold<T: Element>(index: &Index, base: &FileRows<T>, count: u64) -> Result<()> {
    ensure!(count > 0, "it is empty; expected an index over the first rows of the base");
    ensure!(
        count <= base.rows(),
        "it has {count} live vectors, the base {} rows; expected its base",
        base.rows()
    );
    let mut row = vec![T::zeroed(); base.dim()];
    for key in (0..count).step_by((count / HELD).max(1) as usize).chain([count - 1]) {
        base.read_rows(key, &mut row)?;
        let held = index.get::<T>(key)?;
        ensure!(
            held.as_ref() == Some(&row),
            "key {key} is not row {key} of the base; expected an index over its first rows, without keys of its own, that has \
             not been changed"
        );
    }
    Ok(())
}

/// Copies the files of a folder, and those of folders in it.
fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    let copy = || -> std::io::Result<Vec<(PathBuf, PathBuf)>> {
        std::fs::create_dir_all(to)?;
        let mut folders = Vec::new();
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push((entry.path(), target));
            } else {
                std::fs::copy(entry.path(), target)?;
            }
        }
        Ok(folders)
    };
    let folders = copy().with_context(|| format!("copying {} to {}", from.display(), to.display()))?;
    folders.iter().try_for_each(|(from, to)| copy_folder(from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_goes_with_its_run_unless_it_is_kept() {
        let place = tempfile::tempdir().unwrap();
        let from = place.path().join("from");
        std::fs::create_dir_all(from.join("log")).unwrap();
        std::fs::write(from.join("a"), "1").unwrap();
        std::fs::write(from.join("log/b"), "2").unwrap();
        let folder = Folder::new(place.path(), false).unwrap();
        copy_folder(&from, &folder.index).unwrap();
        assert_eq!(std::fs::read_to_string(folder.index.join("log/b")).unwrap(), "2");
        let gone = folder.index.clone();
        drop(folder);
        assert!(!gone.exists() && from.exists());
        let kept = Folder::new(place.path(), true).unwrap();
        copy_folder(&from, &kept.index).unwrap();
        let stays = kept.index.clone();
        drop(kept);
        assert!(stays.join("a").exists());
        let error = copy_folder(&place.path().join("none"), &place.path().join("to")).unwrap_err();
        assert!(format!("{error:#}").contains("none"));
    }
}

//! How much fits in the time that was asked for: rows first, then rounds, then list lengths.

use super::sets::Set;
use crate::preset::{Recipe, Workshop};
use anyhow::{Context, Result};
use std::path::Path;

/// Rows that are tried after those of the whole set.
const STEPS: [u64; 9] =
    [100_000_000, 10_000_000, 1_000_000, 500_000, 200_000, 100_000, 50_000, 20_000, 10_000];
/// Share of the time that builds and truths may take.
const BUILDS: f64 = 0.6;
/// Opening an index and warming up, in seconds a point, about.
const WARM: f64 = 0.5;
/// Elements compared a second while a truth is found, about.
const TRUTH_SPEED: f64 = 4e9;

/// What is wanted of a set.
#[derive(Debug, Clone, Copy)]
pub struct Wish {
    /// Rows, if they are given.
    pub rows: Option<u64>,
    /// Rounds.
    pub rounds: u32,
    /// Seconds that a round of a point takes.
    pub point_seconds: f64,
    /// Seconds for all of it, if they are given.
    pub seconds: Option<f64>,
    /// Most memory a build may take.
    pub memory_budget: u64,
    /// Whether layouts are derived from one graph.
    pub derive: bool,
}

/// What a study would measure.
#[derive(Debug, Clone, Copy)]
pub struct Extent<'a> {
    /// Indexes.
    pub recipes: &'a [Recipe],
    /// List lengths.
    pub lists: &'a [u32],
    /// Number of variants.
    pub variants: usize,
}

/// What is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scale {
    /// Base rows.
    pub rows: u64,
    /// Rounds.
    pub rounds: u32,
    /// List lengths.
    pub lists: Vec<u32>,
    /// What was scaled down, for the reader.
    pub notes: Vec<String>,
}

/// The workshop of a set's indexes.
///
/// # Errors
/// The vectors cannot be read.
pub fn workshop(set: &Set, rows: u64, work: &Path, wish: Wish) -> Result<Workshop> {
    let folder = work.join(format!("{}-{rows}", set.name));
    let Wish { memory_budget, derive, .. } = wish;
    Ok(Workshop { folder, source: set.source(rows)?, metric: set.metric, memory_budget, derive })
}

/// The largest scale that fits what is wanted.
///
/// # Errors
/// The vectors cannot be read, or hold fewer rows than were asked for.
pub fn scale(set: &Set, work: &Path, extent: Extent, wish: Wish) -> Result<Scale> {
    let Extent { recipes, lists, variants } = extent;
    let mut notes = Vec::new();
    let rows = match (wish.rows, wish.seconds) {
        (Some(rows), _) => {
            if rows > set.rows {
                notes.push(format!("{} has {} rows, {rows} were asked for", set.name, set.rows));
            }
            rows.min(set.rows)
        }
        (None, None) => set.rows,
        (None, Some(seconds)) => fitting_rows(set, work, recipes, (seconds * BUILDS, wish))?,
    };
    if rows < set.rows {
        notes.push(format!("the first {rows} rows of {}", set.rows));
    }
    let spent = build_seconds(set, rows, work, (recipes, wish))?;
    let left = wish.seconds.map(|seconds| (seconds - spent).max(seconds * (1.0 - BUILDS)));
    let (rounds, lists) = fitting_points(left, (lists, variants), wish, &mut notes);
    Ok(Scale { rows, rounds, lists, notes })
}

fn fitting_rows(set: &Set, work: &Path, recipes: &[Recipe], limit: (f64, Wish)) -> Result<u64> {
    let (seconds, wish) = limit;
    let candidates: Vec<u64> =
        std::iter::once(set.rows).chain(STEPS.into_iter().filter(|&rows| rows < set.rows)).collect();
    for &rows in &candidates {
        if build_seconds(set, rows, work, (recipes, wish))? <= seconds {
            return Ok(rows);
        }
    }
    candidates.last().copied().context("a set without rows")
}

/// Seconds until everything is built that is not there.
fn build_seconds(set: &Set, rows: u64, work: &Path, (recipes, wish): (&[Recipe], Wish)) -> Result<f64> {
    let shop = workshop(set, rows, work, wish)?;
    let mut seconds = 0.0;
    if !set.has_truth(rows, &shop.folder) {
        let queries = gleann_vector::VectorFile::open(&set.query)?.rows();
        seconds += rows as f64 * queries as f64 * shop.source.dim() as f64 / TRUTH_SPEED;
    }
    Ok(seconds + shop.rough_seconds(recipes)?)
}

fn fitting_points(
    left: Option<f64>,
    (lists, variants): (&[u32], usize),
    wish: Wish,
    notes: &mut Vec<String>,
) -> (u32, Vec<u32>) {
    let Some(left) = left else { return (wish.rounds, lists.to_vec()) };
    let round = |lists: usize| (variants * lists) as f64 * (wish.point_seconds + WARM);
    let rounds = ((left / round(lists.len())) as u32).clamp(1, wish.rounds);
    if rounds < wish.rounds {
        notes.push(format!("{rounds} rounds of {}", wish.rounds));
    }
    if round(lists.len()) <= left || lists.len() < 4 {
        return (rounds, lists.to_vec());
    }
    // Every second one, and the last: interpolation needs the ends.
    let last = lists.len() - 1;
    let kept: Vec<u32> = (0..=last).filter(|at| at % 2 == 0 || *at == last).map(|at| lists[at]).collect();
    notes.push(format!("{} list lengths of {}", kept.len(), lists.len()));
    (rounds, kept)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::sets::Stands;

    fn wish(rows: Option<u64>, seconds: Option<f64>) -> Wish {
        Wish { rows, rounds: 3, point_seconds: 1.0, seconds, memory_budget: 1 << 30, derive: true }
    }

    #[test]
    fn less_time_means_fewer_rows_rounds_and_lists() {
        let work = tempfile::tempdir().unwrap();
        let set = Stands::load().unwrap().choose(&["sift-sample".into()], work.path()).unwrap().remove(0);
        let lists = [10, 20, 30, 40, 60, 80];
        let of = |wish: Wish| {
            scale(
                &set,
                work.path(),
                Extent { recipes: &[Recipe::default()], lists: &lists, variants: 7 },
                wish,
            )
            .unwrap()
        };
        let whole = of(wish(None, None));
        assert_eq!((whole.rows, whole.rounds, whole.lists.len()), (20_000, 3, 6));
        assert!(whole.notes.is_empty());
        assert_eq!(of(wish(None, Some(1e6))), whole);
        assert_eq!(of(wish(Some(5000), None)).rows, 5000);
        let hasty = of(wish(None, Some(0.001)));
        assert_eq!((hasty.rows, hasty.rounds, hasty.lists), (10_000, 1, vec![10, 30, 60, 80]));
        assert_eq!(hasty.notes.len(), 3, "{:?}", hasty.notes);
        assert!(of(wish(Some(1 << 40), None)).notes[0].contains("has 20000 rows"));
    }
}

//! What is measured on one set: the variants' indexes are made ready, then all points in alternating rounds.

use super::plan::{Scale, Wish, workshop};
use super::sets::Set;
use super::store::Store;
use super::study::Study;
use crate::preset::{Recipe, Workshop, sharing};
use crate::row::{Row, median_row};
use crate::run_bench::{Job, Load, Point, measure};
use crate::sweep::{OpenPoint, SearchPoint};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// How everything is measured.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Folder of indexes, points and figures.
    pub work: PathBuf,
    /// Threads; 0 is one per core.
    pub threads: u32,
    /// Searches a core interleaves, where many are asked for.
    pub in_flight: u32,
    /// Ask the first so many queries only.
    pub queries: Option<u32>,
    /// What is wanted.
    pub wish: Wish,
    /// Whether reads through the page cache are measured.
    pub allow_buffered: bool,
}

/// A variant's point, and what it is kept under.
struct Keyed {
    key: String,
    point: Point,
}

/// What an index is asked.
struct Task {
    index: PathBuf,
    points: Vec<Keyed>,
}

/// The recipes of a study's variants on a set, those that one index may serve made one.
///
/// # Errors
/// A value is out of range.
pub fn recipes(study: &Study, set: &Set) -> Result<Vec<Recipe>> {
    let own: Vec<Recipe> =
        study.variants.iter().map(|variant| variant.recipe(&set.build)).collect::<Result<_>>()?;
    Ok(if study.shared { sharing(&own) } else { own })
}

/// Measures a study on a set. Points that the store has are not measured again.
/// Returns medians, named by variant, in the order of the variants.
///
/// # Errors
/// A truth or an index cannot be made, or something cannot be measured.
pub fn measure_set(
    (study, set): (&Study, &Set),
    scale: &Scale,
    settings: &Settings,
    store: &mut Store<Row>,
) -> Result<Vec<Row>> {
    let shop = workshop(set, scale.rows, &settings.work, settings.wish)?;
    let truth = set.truth(scale.rows, study.k, &shop.folder)?;
    let tasks = tasks(study, set, (scale, settings), &shop)?;
    for round in 1..=scale.rounds {
        for task in &tasks {
            let job = job(study, set, (settings, &truth), &task.index);
            measure_task(task, round, job, store)?;
        }
    }
    let medians = tasks.iter().flat_map(|task| &task.points).filter_map(|keyed| {
        let row = median_row(&store.rounds(&keyed.key, scale.rounds))?;
        Some(Row { preset: keyed.point.name.clone(), ..row })
    });
    let mut rows: Vec<Row> = medians.collect();
    let place = |row: &Row| study.variants.iter().position(|variant| variant.preset.name == row.preset);
    rows.sort_by_key(|row| (place(row), row.list));
    Ok(rows)
}

/// Makes the indexes, and lists what they are asked.
fn tasks(
    study: &Study,
    set: &Set,
    (scale, settings): (&Scale, &Settings),
    shop: &Workshop,
) -> Result<Vec<Task>> {
    let mut tasks: Vec<Task> = Vec::new();
    for (variant, recipe) in study.variants.iter().zip(recipes(study, set)?) {
        let index = shop.index(&recipe)?;
        let open = OpenPoint {
            threads: settings.threads,
            in_flight: if study.alone { 1 } else { settings.in_flight },
            ..variant.preset.open.clone()
        };
        let lists = variant.lists.as_ref().unwrap_or(&scale.lists);
        let points = lists.iter().map(|&list| {
            let point = Point {
                name: variant.preset.name.clone(),
                open: open.clone(),
                search: SearchPoint { list, ..variant.preset.search },
            };
            Keyed { key: key((study, set), (scale, settings), &recipe, &point), point }
        });
        match tasks.iter_mut().find(|task| task.index == index) {
            Some(task) => task.points.extend(points),
            None => tasks.push(Task { index, points: points.collect() }),
        }
    }
    Ok(tasks)
}

/// All that a figure depends on.
fn key(
    (study, set): (&Study, &Set),
    (scale, settings): (&Scale, &Settings),
    recipe: &Recipe,
    point: &Point,
) -> String {
    let (open, search) = (&point.open, point.search);
    format!(
        "{}-{}, {} queries, {}, k {}, {open}, {search}, {} s",
        set.name,
        scale.rows,
        settings.queries.map_or_else(|| "all".to_owned(), |count| count.to_string()),
        recipe.folder(),
        study.k,
        settings.wish.point_seconds
    )
}

fn job(study: &Study, set: &Set, (settings, truth): (&Settings, &Path), index: &Path) -> Job {
    Job {
        about: None,
        index: index.to_owned(),
        query: set.query.clone(),
        truth: truth.to_owned(),
        out: None,
        k: study.k,
        rounds: 1,
        points: Vec::new(),
        expectations: Vec::new(),
        load: Load::Closed,
        seconds: settings.wish.point_seconds,
        queries: settings.queries,
        allow_buffered: settings.allow_buffered,
    }
}

fn measure_task(task: &Task, round: u32, job: Job, store: &mut Store<Row>) -> Result<()> {
    let missing: Vec<&Keyed> = task.points.iter().filter(|keyed| !store.has(&keyed.key, round)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let points = missing.iter().map(|keyed| keyed.point.clone()).collect();
    let mut at = 0;
    measure(&Job { points, ..job }, &mut |row| {
        eprintln!(
            "round {round}: {} L {}: recall {:.4}, {:.0} queries/s, {:.1} pages",
            row.preset,
            row.list,
            row.recall,
            row.qps,
            row.cost.pages_per_query.unwrap_or(0.0)
        );
        store.add(&missing[at].key, round, row)?;
        at += 1;
        Ok(())
    })
    .map(drop)
}

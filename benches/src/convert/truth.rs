//! Neighbours of a file as ground truth in the big-ann form: distances are computed anew, and held against the file's.

use super::described::{Described, Scale};
use super::tables::{Stored, Table, Tables};
use anyhow::{Result, bail, ensure};
use gleann_vector::{Distance, Element, GroundTruth, MappedRows, Matrix, Metric};
use rayon::prelude::*;

/// How far a distance may be from the file's: of a magnitude, and in all. They are f32 there, or f64 of f32 sums.
const RELATIVE: f64 = 1e-3;
const ABSOLUTE: f64 = 1e-3;

/// The truth of a file.
///
/// # Errors
/// Neighbours are missing, name rows that are not there, or are at other distances than the file says.
pub fn truth_of<T: Element>(
    file: &Tables,
    set: &Described,
    base: &MappedRows<T>,
    queries: &Matrix<T>,
) -> Result<GroundTruth> {
    ensure!(
        file.has("neighbors"),
        "{}: data set `neighbors` is missing; `--no-truth` converts the vectors, `ground-truth` finds their neighbours",
        file.name()
    );
    let neighbours = file.table("neighbors")?;
    let (rows, k) = (neighbours.rows, neighbours.columns);
    ensure!(
        rows == queries.rows() as u64 && k > 0,
        "{}: `neighbors` has {rows} × {k}; expected {} × 1 or more",
        file.name(),
        queries.rows()
    );
    let ids = read_ids(file, &neighbours, base.rows())?;
    let distance = Distance::<T>::new(set.metric, base.dim());
    let k = k as usize;
    let mut found: Vec<(f32, u32)> = Vec::with_capacity(ids.len());
    ids.par_iter()
        .enumerate()
        .map(|(slot, &id)| (distance.between(queries.row(slot / k), base.row(id.into())), id))
        .collect_into_vec(&mut found);
    check_distances(file, set, k, &found)?;
    found.par_chunks_mut(k).for_each(|list| list.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))));
    Ok(GroundTruth {
        queries: queries.rows(),
        k,
        ids: found.iter().map(|(_, id)| *id).collect(),
        distances: Some(found.iter().map(|(distance, _)| set.metric.user_distance(*distance)).collect()),
    })
}

fn read_ids(file: &Tables, table: &Table, base: u64) -> Result<Vec<u32>> {
    let wide: Vec<i64> = match table.stored {
        Stored::I32 => file.rows::<i32>(table, 0, table.rows)?.into_iter().map(i64::from).collect(),
        Stored::I64 => file.rows::<i64>(table, 0, table.rows)?,
        _ => bail!("{}: `neighbors` holds {:?}; expected i32 or i64", file.name(), table.stored),
    };
    let narrow = |(slot, id): (usize, i64)| {
        let row = u32::try_from(id).ok().filter(|&row| u64::from(row) < base);
        let columns = table.columns as usize;
        match row {
            Some(row) => Ok(row),
            None => bail!(
                "{}: neighbour {} of query {} is {id}; expected a row below {base}",
                file.name(),
                slot % columns,
                slot / columns
            ),
        }
    };
    wide.into_iter().enumerate().map(narrow).collect()
}

/// Holds computed distances against those of the file, where it has some.
fn check_distances(file: &Tables, set: &Described, k: usize, found: &[(f32, u32)]) -> Result<()> {
    if !file.has("distances") {
        return Ok(());
    }
    let table = file.table("distances")?;
    let stored: Vec<f64> = match table.stored {
        Stored::F32 => file.rows::<f32>(&table, 0, table.rows)?.into_iter().map(f64::from).collect(),
        Stored::F64 => file.rows::<f64>(&table, 0, table.rows)?,
        _ => bail!("{}: `distances` holds {:?}; expected f32 or f64", file.name(), table.stored),
    };
    ensure!(
        stored.len() == found.len() && table.columns == k as u64,
        "{}: `distances` has {} × {}, `neighbors` {} × {k}; expected the same",
        file.name(),
        table.rows,
        table.columns,
        found.len() / k
    );
    let scale = |set: &Described, ordering| set.scale.of_ours(set.metric.user_distance(ordering));
    for (slot, (stored, (ordering, _))) in stored.iter().zip(found).enumerate() {
        let ours = scale(set, *ordering);
        ensure!(
            (ours - stored).abs() <= ABSOLUTE + RELATIVE * ours.abs(),
            "{}: neighbour {} of query {} is at {stored} there, at {ours} by its vector under {} ({}); the file is not \
             what its attribute `distance` says. `--no-truth` converts the vectors alone",
            file.name(),
            slot % k,
            slot / k,
            set.metric,
            scale_name(set.scale, set.metric)
        );
    }
    Ok(())
}

fn scale_name(scale: Scale, metric: Metric) -> &'static str {
    match (scale, metric) {
        (Scale::Euclidean, _) => "not squared",
        (Scale::OneLessCosine, _) => "1 − cosine",
        (Scale::NegatedProduct, _) => "negated",
    }
}

//! The ground-truth file: `u32 nq`, `u32 k`, `u32 ids[nq · k]` and, where they are kept, `f32 distances[nq · k]`.

use crate::files::{
    AtomicFile, FileError, FileFormat, FileProblem, IdRows, RawFile, read_ivecs, suffix_of, write_ivecs,
};
use std::path::Path;

/// The id in a slot of which there is no neighbour, because the base has fewer than k rows. Its distance is
/// +infinity, for every metric. It matches nothing.
pub const NO_ID: u32 = u32::MAX;

/// The true `k` nearest rows of every query, nearest first.
#[derive(Debug, Clone, PartialEq)]
pub struct GroundTruth {
    /// Number of queries.
    pub queries: usize,
    /// Neighbours a query.
    pub k: usize,
    /// `queries · k` row numbers, row-major, [`NO_ID`] where there is none.
    pub ids: Vec<u32>,
    /// Their distances on the scale of [`Metric::user_distance`](crate::Metric::user_distance), where known.
    pub distances: Option<Vec<f32>>,
}

impl GroundTruth {
    /// Reads a ground-truth file: `.ivecs` by its name, the big-ann form otherwise, with or without distances
    /// by its size.
    ///
    /// # Errors
    /// The file cannot be read, is of another kind, or holds a distance that is NaN.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        if let Some(format) = FileFormat::of_path(path) {
            let message = format!("a .{format} file holds vectors, not ground truth");
            return Err(FileError::new(path, FileProblem::Unsupported(message)));
        }
        let raw = RawFile::open(path)?;
        if suffix_of(path).is_some_and(|suffix| suffix == "ivecs") {
            let IdRows { rows, width, ids } = read_ivecs(&raw)?;
            return Ok(Self { queries: rows as usize, k: width, ids, distances: None });
        }
        read_big_ann(&raw)
    }

    /// Writes the big-ann form, or `.ivecs` (ids only) where the name says so.
    ///
    /// # Errors
    /// The counts do not fit the header, the form cannot hold an empty truth, or writing fails.
    ///
    /// # Panics
    /// If `ids` or `distances` are not `queries · k` long.
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let path = path.as_ref();
        let slots = self.queries * self.k;
        assert!(self.ids.len() == slots, "ids are not queries · k");
        assert!(self.distances.as_ref().is_none_or(|d| d.len() == slots), "distances are not queries · k");
        if suffix_of(path).is_some_and(|suffix| suffix == "ivecs") {
            return write_ivecs(path, &self.ids, self.k);
        }
        let word = |what, found: usize| {
            let limit = u64::from(u32::MAX);
            let error = FileProblem::TooLarge { what, found: found as u64, limit };
            u32::try_from(found).map_err(|_| FileError::new(path, error))
        };
        let header = [word("the number of queries", self.queries)?, word("k", self.k)?];
        let mut out = AtomicFile::create(path)?;
        out.write(bytemuck::cast_slice(&header))?;
        out.write(bytemuck::cast_slice(&self.ids))?;
        if let Some(distances) = &self.distances {
            out.write(bytemuck::cast_slice(distances))?;
        }
        out.commit(&[])
    }

    /// The ids of one query.
    ///
    /// # Panics
    /// If `query` is not below the number of queries.
    pub fn ids_of(&self, query: usize) -> &[u32] {
        &self.ids[query * self.k..(query + 1) * self.k]
    }

    /// The distances of one query, where known.
    ///
    /// # Panics
    /// If `query` is not below the number of queries.
    pub fn distances_of(&self, query: usize) -> Option<&[f32]> {
        self.distances.as_ref().map(|distances| &distances[query * self.k..(query + 1) * self.k])
    }

    /// Refuses a truth that cannot belong to a base of `base_rows` rows: an id that is not there, such as the
    /// truth of a whole data set laid beside one of its crops.
    ///
    /// # Errors
    /// The first such id, named with query and slot as [`FileProblem::Content`] of `path`.
    pub fn check_ids(&self, path: &Path, base_rows: u64) -> Result<(), FileError> {
        let bad = self.ids.iter().position(|&id| id != NO_ID && u64::from(id) >= base_rows);
        let Some(slot) = bad else { return Ok(()) };
        let message = format!("id {} is no row of a base of {base_rows} rows", self.ids[slot]);
        Err(FileError::new(path, FileProblem::Content { place: place(slot, self.k), message }))
    }
}

fn place(slot: usize, k: usize) -> String {
    format!("query {}, neighbour {}", slot / k, slot % k)
}

fn read_big_ann(raw: &RawFile) -> Result<GroundTruth, FileError> {
    raw.expect_kind("ground-truth", "two 32-bit words: queries and k")?;
    let (queries, k) = raw.two_words()?;
    if k == 0 {
        let (found, expected, looks) = ("0".into(), "at least 1".into(), raw.looks());
        return Err(raw.error(FileProblem::Header { field: "k", found, expected, looks }));
    }
    let slots = u64::from(queries) * u64::from(k);
    let with_distances = slots.checked_mul(8).and_then(|bytes| bytes.checked_add(8));
    let without = slots.checked_mul(4).and_then(|bytes| bytes.checked_add(8));
    let (Some(with_distances), Some(without)) = (with_distances, without) else {
        let (found, looks) = (format!("{queries} queries × {k}"), raw.looks());
        let expected = "something that fits a file".into();
        return Err(raw.error(FileProblem::Header { field: "the shape", found, expected, looks }));
    };
    if raw.len != without {
        let content =
            format!("the header and {queries} queries × {k} ids and distances ({without} without distances)");
        raw.expect_len(with_distances, content)?;
    }
    let count = slots as usize;
    let ids = raw.words(8, count)?;
    let distances: Option<Vec<f32>> =
        if raw.len == with_distances { Some(raw.words(8 + slots * 4, count)?) } else { None };
    if let Some(slot) = distances.iter().flatten().position(|distance| distance.is_nan()) {
        let (place, message) = (place(slot, k as usize), "the distance is NaN".into());
        return Err(raw.error(FileProblem::Content { place, message }));
    }
    Ok(GroundTruth { queries: queries as usize, k: k as usize, ids, distances })
}

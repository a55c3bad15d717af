//! The vectors a build reads.

use super::scan::Stop;
use crate::import::GraphSource;
use gleann_graph::Rows;
use gleann_vector::{Element, FileError, Matrix, Metric, Progress, RowSource, VectorFile};

/// Rows on disk or in memory.
pub(crate) struct Input<'a, T: Element> {
    pub rows: Box<dyn RowSource<T> + 'a>,
    /// The rows, where they are in memory anyway.
    pub resident: Option<&'a Matrix<T>>,
    /// The graph over them, where it is there already.
    pub given: Option<&'a GraphSource>,
    /// What messages call them.
    pub name: String,
}

impl<'a, T: Element> Input<'a, T> {
    /// # Errors
    /// The file holds another element type.
    pub(crate) fn of_file(file: &VectorFile) -> Result<Self, FileError> {
        Ok(Self {
            rows: Box::new(file.source::<T>()?),
            resident: None,
            given: None,
            name: file.path().display().to_string(),
        })
    }

    pub(crate) fn of_matrix(matrix: &'a Matrix<T>) -> Self {
        let name = "the given rows".into();
        Self { rows: Box::new(Borrowed(matrix)), resident: Some(matrix), given: None, name }
    }

    pub(crate) fn of_graph(source: &'a GraphSource) -> Self {
        let name = source.name().to_owned();
        Self { rows: Box::new(source), resident: None, given: Some(source), name }
    }

    /// All rows, read in pieces of `piece` rows.
    ///
    /// # Errors
    /// They cannot be read, or `progress` asked to stop.
    pub(crate) fn read_all(&self, piece: usize, progress: &dyn Progress) -> Result<Matrix<T>, Stop> {
        let (count, dim) = (self.rows.rows(), self.rows.dim());
        let mut vectors = Matrix::<T>::zeroed(count as usize, dim);
        progress.phase("read vectors", count);
        let mut start = 0;
        for rows in vectors.as_mut_slice().chunks_mut(piece * dim) {
            if progress.cancelled() {
                return Err(Stop::Cancelled);
            }
            self.rows.read_rows(start, rows).map_err(|error| Stop::Error(error.into()))?;
            start += (rows.len() / dim) as u64;
            progress.advance((rows.len() / dim) as u64);
        }
        Ok(vectors)
    }

    pub(crate) fn shape(&self, metric: Metric) -> Rows {
        Rows { rows: self.rows.rows(), dim: self.rows.dim(), element: T::TYPE, metric }
    }
}

struct Borrowed<'a, T: Element>(&'a Matrix<T>);

impl<T: Element> RowSource<T> for Borrowed<'_, T> {
    fn rows(&self) -> u64 {
        RowSource::rows(self.0)
    }

    fn dim(&self) -> usize {
        self.0.dim()
    }

    fn read_rows(&self, start: u64, into: &mut [T]) -> Result<(), gleann_vector::SourceError> {
        self.0.read_rows(start, into)
    }
}

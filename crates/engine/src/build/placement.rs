//! The order in which vectors are stored: that of their rows, or one that a shuffle has found (the work file
//! `order`: the row at each place, as u32 of this machine).

use super::BuildError;
use super::run::Run;
use gleann_storage::AtomicFile;
use gleann_vector::Element;
use std::path::Path;

/// The order that a shuffle has found.
pub(crate) const ORDER: &str = "order";

/// Which row is stored where.
#[derive(Debug)]
pub(crate) enum Placement {
    /// Every row at its number.
    ById,
    /// As a shuffle has found best.
    Shuffled {
        /// The row at each place.
        rows: Vec<u32>,
        /// The place of each row.
        places: Vec<u32>,
    },
}

impl Placement {
    /// The row stored at `place`.
    pub(crate) fn row(&self, place: u32) -> u32 {
        match self {
            Placement::ById => place,
            Placement::Shuffled { rows, .. } => rows[place as usize],
        }
    }

    /// The place of `row`.
    pub(crate) fn place(&self, row: u32) -> u32 {
        match self {
            Placement::ById => row,
            Placement::Shuffled { places, .. } => places[row as usize],
        }
    }

    /// Whether there is an order of its own.
    pub(crate) fn is_shuffled(&self) -> bool {
        matches!(self, Placement::Shuffled { .. })
    }

    fn read(path: &Path, nodes: u32) -> Result<Self, BuildError> {
        let mut rows = vec![0u32; nodes as usize];
        super::work::read_file(path, bytemuck::cast_slice_mut(&mut rows))?;
        let mut places = vec![u32::MAX; nodes as usize];
        for (place, &row) in (0..).zip(&rows) {
            match places.get_mut(row as usize) {
                Some(free) if *free == u32::MAX => *free = place,
                _ => {
                    let message = format!("place {place} holds row {row}, which is impossible");
                    return Err(BuildError::damaged(path, message));
                }
            }
        }
        Ok(Placement::Shuffled { rows, places })
    }
}

impl<T: Element> Run<'_, T> {
    /// The order of this build, once it is known.
    pub(crate) fn placement(&self) -> Result<Placement, BuildError> {
        if self.plan.jobs.shuffle.is_none() {
            return Ok(Placement::ById);
        }
        Placement::read(&self.work.path(ORDER), self.nodes())
    }
}

/// Writes the row at each place.
pub(crate) fn write_order(path: &Path, rows: &[u32]) -> Result<(), BuildError> {
    let mut file = AtomicFile::create(path)?;
    file.reserve(4 * rows.len() as u64)?;
    file.write(bytemuck::cast_slice(rows))?;
    Ok(file.commit()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_comes_back_and_nonsense_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(ORDER);
        write_order(&path, &[2, 0, 1]).unwrap();
        let placement = Placement::read(&path, 3).unwrap();
        assert_eq!((placement.row(0), placement.place(0), placement.is_shuffled()), (2, 1, true));
        for bad in [&[2u32, 0, 0][..], &[0, 1, 3], &[0, 1]] {
            write_order(&path, bad).unwrap();
            let error = Placement::read(&path, 3).unwrap_err().to_string();
            assert!(error.contains("order") && error.contains("restart"), "{error}");
        }
    }
}

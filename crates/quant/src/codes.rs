//! The codes of all rows in memory.
//!
//! A search asks two things of this crate: fill a table for a query, and estimate these ids for it. Another estimator
//! (RaBitQ, say) takes its place behind [`Codes`] and [`crate::DistanceTable`]; nothing outside of the two sees what a
//! code consists of.

use crate::{Codebook, QuantError};
use gleann_vector::Matrix;

/// One code a row, in the order of internal ids.
#[derive(Debug)]
pub struct Codes {
    bytes: Matrix<u8>,
}

impl Codes {
    /// Takes the codes that `codebook` gave, one row a code.
    ///
    /// # Errors
    /// [`QuantError::Codes`] where codes have another length, or name a centroid that the codebook does not have.
    pub fn new(bytes: Matrix<u8>, codebook: &Codebook) -> Result<Self, QuantError> {
        let chunks = codebook.chunks();
        if bytes.dim() != chunks {
            let found = format!("{} bytes a code", bytes.dim());
            return Err(QuantError::Codes {
                found,
                expected: format!("{chunks}, one for each chunk of the codebook"),
            });
        }
        let mut largest = vec![0u8; chunks];
        for code in bytes.as_slice().chunks_exact(chunks) {
            largest.iter_mut().zip(code).for_each(|(largest, &id)| *largest = (*largest).max(id));
        }
        match (0..chunks).find(|&chunk| largest[chunk] as usize >= codebook.centroids(chunk)) {
            None => Ok(Self { bytes }),
            Some(chunk) => Err(QuantError::Codes {
                found: format!("centroid {} of chunk {chunk}", largest[chunk]),
                expected: format!(
                    "at most {}, the last of that chunk's centroids",
                    codebook.centroids(chunk) - 1
                ),
            }),
        }
    }

    /// The same codes with zeros behind them, `rows` in all: room for the codes of rows to come.
    #[must_use]
    pub fn with_room(&self, rows: usize) -> Self {
        let mut bytes = Matrix::zeroed(rows.max(self.len()), self.code_bytes());
        bytes.as_mut_slice()[..self.as_bytes().len()].copy_from_slice(self.as_bytes());
        Self { bytes }
    }

    /// Writes the code of `id`, which others may be about to read.
    ///
    /// # Safety
    /// As [`Matrix::write_shared`]: nobody may read this code until it has been told, by something that synchronises,
    /// that it is there.
    ///
    /// # Panics
    /// If `id` is not below [`Codes::len`], or the code has another length.
    pub unsafe fn write_shared(&self, id: u32, code: &[u8]) {
        // SAFETY: by the caller's promise.
        unsafe { self.bytes.write_shared(id as usize, code) };
    }

    /// Number of codes.
    pub fn len(&self) -> usize {
        self.bytes.rows()
    }

    /// Whether there is no code.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes a code.
    pub fn code_bytes(&self) -> usize {
        self.bytes.dim()
    }

    /// The code of `id`.
    ///
    /// # Panics
    /// If `id` is not below [`Codes::len`].
    #[inline]
    pub fn code(&self, id: u32) -> &[u8] {
        self.bytes.row(id as usize)
    }

    /// All codes, row-major, as they are stored.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.as_slice()
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        self.as_bytes().len()
    }

    /// Asks the processor for the code of `id`, ahead of use; an id that is not there is ignored.
    #[inline]
    pub fn prefetch(&self, id: u32) {
        if (id as usize) < self.len() {
            gleann_vector::prefetch(self.code(id));
        }
    }
}

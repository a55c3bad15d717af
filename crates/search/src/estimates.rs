//! The codes axis: how a neighbour is judged before its own record has been read.

use crate::live::View;
use gleann_quant::{Codebook, Codes, DistanceTable};

/// How a neighbour is judged before its own record has been read.
#[derive(Debug)]
pub enum Estimates {
    /// By its code, held in memory (DiskANN).
    Memory {
        /// What the codes mean.
        codebook: Codebook,
        /// The code of every node, in id order.
        codes: Codes,
    },
    /// By its code, which lies beside its id in the record that names it (All-in-Storage: AiSAQ).
    Record {
        /// What the codes mean.
        codebook: Codebook,
        /// The code of the node that searches begin at, which no record need name; none in an empty index.
        medoid: Option<Codes>,
    },
    /// Not at all: it must be read (full-precision traversal; design-space paper, equation 1).
    Off,
}

impl Estimates {
    /// What the codes mean.
    pub fn codebook(&self) -> Option<&Codebook> {
        match self {
            Estimates::Memory { codebook, .. } | Estimates::Record { codebook, .. } => Some(codebook),
            Estimates::Off => None,
        }
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        let codes = if let Estimates::Memory { codes, .. } = self { codes.memory_bytes() } else { 0 };
        codes + self.codebook().map_or(0, Codebook::memory_bytes)
    }

    /// The estimate of the medoid; infinite where it has no code, so that it never keeps another candidate's place.
    pub(crate) fn of_medoid(&self, table: &DistanceTable, id: u32, view: Option<&View>) -> f32 {
        if let Some(codes) = self.codes(view) {
            return table.estimate_one(codes, id);
        }
        match self {
            Estimates::Record { medoid: Some(code), .. } => table.estimate_one(code, 0),
            _ => f32::INFINITY,
        }
    }

    /// The codes in memory, where there are any: those of a search's view in an index that changes.
    #[inline]
    pub(crate) fn codes<'a>(&'a self, view: Option<&'a View>) -> Option<&'a Codes> {
        match (self, view) {
            (Estimates::Memory { .. }, Some(view)) => Some(view.nodes.codes()),
            (Estimates::Memory { codes, .. }, None) => Some(codes),
            _ => None,
        }
    }
}

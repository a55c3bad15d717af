//! Which vector lies where.

use std::fmt;
use std::str::FromStr;

/// How the internal ids of an index were given out.
///
/// Whatever the packing, an internal id is a place (`block · records per block + slot`), and every file is in
/// the order of internal ids. The writers take records, codes and keys in that order; a packing is nothing
/// but the permutation of the input rows that decided it. Search does not need to know it: what a result is
/// called comes from the keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Packing {
    /// Internal id = row number in the input. Without a key file, the key of a vector is its row number.
    ById,
    /// Vectors that are neighbours in the graph share blocks as far as that can be had. There is always a key file.
    PageShuffle,
}

impl Packing {
    /// Every packing, in the order of their on-disk codes.
    pub const ALL: [Packing; 2] = [Packing::ById, Packing::PageShuffle];

    /// Whether internal ids are row numbers, so that an index may do without a key file.
    pub const fn ids_are_rows(self) -> bool {
        match self {
            Packing::ById => true,
            Packing::PageShuffle => false,
        }
    }

    /// The name used in configs and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Packing::ById => "by-id",
            Packing::PageShuffle => "page-shuffle",
        }
    }
}

impl fmt::Display for Packing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no packing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no packing; expected by-id or page-shuffle")]
pub struct UnknownPacking(String);

impl FromStr for Packing {
    type Err = UnknownPacking;

    fn from_str(text: &str) -> Result<Self, UnknownPacking> {
        let named = Self::ALL.into_iter().find(|packing| packing.name() == text);
        named.ok_or_else(|| UnknownPacking(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for packing in Packing::ALL {
            assert_eq!(packing.to_string().parse(), Ok(packing));
        }
        let error = "shuffled".parse::<Packing>().unwrap_err().to_string();
        assert!(error.contains("expected by-id or page-shuffle"), "{error}");
    }
}

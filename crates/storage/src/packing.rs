//! Which vector lies where.

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
}

impl Packing {
    /// Every packing, in the order of their on-disk codes.
    pub const ALL: [Packing; 1] = [Packing::ById];

    /// Whether internal ids are row numbers, so that an index may do without a key file.
    pub const fn ids_are_rows(self) -> bool {
        match self {
            Packing::ById => true,
        }
    }

    /// The name used in configs and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Packing::ById => "by-id",
        }
    }
}

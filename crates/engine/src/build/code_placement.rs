//! Where the codes of an index are kept.

use gleann_storage::{CodeFormat, Manifest};
use std::fmt;
use std::str::FromStr;

/// Where searches find the code of a neighbour that they have not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum CodePlacement {
    /// In memory: one read a vector visited, for the price of the codes' memory (DiskANN).
    #[default]
    Memory,
    /// In the record of whoever names it: no memory, for larger records (All-in-Storage: AiSAQ).
    Record,
    /// There are no codes: every neighbour is read to be judged. A baseline, for small sets.
    Off,
}

impl CodePlacement {
    /// Every placement.
    pub const ALL: [CodePlacement; 3] = [CodePlacement::Memory, CodePlacement::Record, CodePlacement::Off];

    /// Where the codes of an index are.
    pub fn of(manifest: &Manifest) -> Self {
        match (manifest.codes, manifest.layout.code_bytes()) {
            (CodeFormat::None, _) => CodePlacement::Off,
            (CodeFormat::Pq { .. }, 0) => CodePlacement::Memory,
            (CodeFormat::Pq { .. }, _) => CodePlacement::Record,
        }
    }

    /// The name used in configs and reports.
    pub const fn name(self) -> &'static str {
        match self {
            CodePlacement::Memory => "memory",
            CodePlacement::Record => "record",
            CodePlacement::Off => "off",
        }
    }
}

impl fmt::Display for CodePlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no place for codes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no place for codes; expected memory, record or off")]
pub struct UnknownPlacement(String);

impl FromStr for CodePlacement {
    type Err = UnknownPlacement;

    fn from_str(text: &str) -> Result<Self, UnknownPlacement> {
        let named = Self::ALL.into_iter().find(|placement| placement.name() == text);
        named.ok_or_else(|| UnknownPlacement(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_back() {
        for placement in CodePlacement::ALL {
            assert_eq!(placement.to_string().parse(), Ok(placement));
        }
        assert!("disk".parse::<CodePlacement>().unwrap_err().to_string().contains("memory, record or off"));
    }
}

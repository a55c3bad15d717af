//! Generations: a live index that is rebuilt while it is used grows anew in a directory within its own.
//!
//! `CURRENT` names the directory that holds the index, such as `gen-000002`; where there is none, the index lies in its
//! directory itself. Replacing that one file is the switch from one generation to the next.

use crate::atomic_file::replace_file;
use crate::error::{FieldError, StorageError};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Name of the file that says where the index is.
pub const CURRENT_NAME: &str = "CURRENT";

const PREFIX: &str = "gen-";
/// No name of a generation is as long.
const MOST: u64 = 64;

/// A generation of a live index, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Generation(pub u64);

impl Generation {
    /// The generation that the index in `dir` is in.
    ///
    /// # Errors
    /// `CURRENT` is there and names none.
    pub fn current(dir: &Path) -> Result<Self, StorageError> {
        let path = dir.join(CURRENT_NAME);
        let mut text = String::new();
        match File::open(&path).and_then(|file| file.take(MOST).read_to_string(&mut text)) {
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self(0)),
            Err(error) if error.kind() != io::ErrorKind::InvalidData => {
                return Err(StorageError::io("reading", &path)(error));
            }
            // Not UTF-8: no name.
            Err(_) => text.clear(),
        }
        text.strip_suffix('\n').and_then(Self::of_name).ok_or_else(|| {
            let error = FieldError::new("its content", format!("{text:?}"), "the name of a directory such as gen-000001");
            error.at(&path, "write the name of the highest gen- directory that has a table.gln, or restore the index from a snapshot")
        })
    }

    /// The generation of a file or directory of that name.
    pub fn of_name(name: &str) -> Option<Self> {
        let number: u64 = name.strip_prefix(PREFIX)?.parse().ok()?;
        let generation = Self(number);
        (number > 0 && generation.name() == name).then_some(generation)
    }

    /// Whether a name is one that generations have, or files beside them while they are made, `CURRENT` itself included
    /// while it is written.
    pub fn owns(name: &str) -> bool {
        let number = name.strip_prefix(PREFIX);
        number.is_some_and(|number| number.starts_with(|digit: char| digit.is_ascii_digit()))
            || name.strip_suffix(".tmp") == Some(CURRENT_NAME)
    }

    /// Name of its directory; the first generation has none.
    pub fn name(self) -> String {
        format!("{PREFIX}{:06}", self.0)
    }

    /// Where it lies in the index directory `dir`.
    pub fn directory(self, dir: &Path) -> PathBuf {
        if self.0 == 0 { dir.to_owned() } else { dir.join(self.name()) }
    }

    /// Makes this the generation that the index in `dir` is in, durably.
    ///
    /// # Errors
    /// The system refused. [`Generation::current`] tells which one it is then.
    ///
    /// # Panics
    /// For generation 0, to which nothing returns.
    pub fn switch(self, dir: &Path) -> Result<(), StorageError> {
        assert!(self.0 > 0, "an index does not go back to its first generation");
        replace_file(&dir.join(CURRENT_NAME), format!("{}\n", self.name()).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_nothing_else() {
        for number in [1, 42, 999_999, 1_000_000, u64::MAX] {
            assert_eq!(Generation::of_name(&Generation(number).name()), Some(Generation(number)));
        }
        for name in ["", "gen-", "gen-0", "gen-000000", "gen-1", "gen-0000001", "gen-+00001", "../gen-000001"]
        {
            assert_eq!(Generation::of_name(name), None, "{name}");
        }
        assert!(Generation::owns("gen-000001.vectors.fbin") && !Generation::owns("gen-erations"));
        assert!(Generation::owns("CURRENT.tmp") && !Generation::owns(CURRENT_NAME));
    }

    #[test]
    fn the_current_generation_is_the_one_switched_to() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(Generation::current(dir.path()).unwrap(), Generation(0));
        assert_eq!(Generation(0).directory(dir.path()), dir.path());
        Generation(3).switch(dir.path()).unwrap();
        assert_eq!(Generation::current(dir.path()).unwrap(), Generation(3));
        for text in [&b""[..], b"gen-000001", b"gen-1\n", b"/etc\n", b"\xff\xff\n"] {
            std::fs::write(dir.path().join(CURRENT_NAME), text).unwrap();
            let error = Generation::current(dir.path()).unwrap_err().to_string();
            assert!(error.contains("CURRENT: its content is"), "{error}");
        }
    }
}

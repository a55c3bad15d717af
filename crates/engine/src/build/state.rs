//! What an unfinished build knows of itself: `state.json`.

use super::BuildError;
use super::meter::Spent;
use super::phase::Phase;
use gleann_storage::{MemberEntry, MemberKind, replace_file};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;

/// Everything that shapes the bytes of an index, by name.
pub(crate) type Inputs = BTreeMap<String, String>;

/// The progress of a build.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    /// What is built, from what, how.
    pub inputs: Inputs,
    /// Finished phases and what they took.
    pub finished: BTreeMap<Phase, Spent>,
    /// Finished members.
    pub members: Vec<Member>,
    /// Where searches begin.
    pub entry: Option<u32>,
    /// Rows of every shard.
    pub shard_rows: Vec<u64>,
    /// Shards whose lists are there.
    pub shards_built: usize,
    /// What earlier runs took for these shards.
    pub shards_spent: Option<Spent>,
    /// Vectors that could not be reached, and edges made for them.
    pub unreachable: u64,
    pub repaired: u64,
    /// Whether the repaired graph takes the place of the first one.
    pub graph_repaired: bool,
    /// Vectors by degree.
    pub degrees: Vec<u64>,
    /// Neighbours that share the page of their vector.
    pub page_mates: u64,
    /// Where the entry point lies, if not at its row number.
    pub entry_place: Option<u32>,
    /// The same neighbours in packings that were not taken.
    pub other_page_mates: Option<PageMates>,
}

/// Neighbours that would share the page of their vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PageMates {
    pub by_id: u64,
    pub greedy: u64,
}

/// A finished member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Member {
    pub name: String,
    pub bytes: u64,
    pub crc32c: u32,
}

impl Member {
    pub(crate) fn of(entry: &MemberEntry) -> Self {
        Self { name: entry.name.clone(), bytes: entry.bytes, crc32c: entry.crc32c }
    }

    fn entry(&self) -> Option<MemberEntry> {
        let kind = MemberKind::ALL.into_iter().find(|kind| kind.file_name() == self.name)?;
        Some(MemberEntry { kind, name: self.name.clone(), bytes: self.bytes, crc32c: self.crc32c })
    }
}

impl State {
    /// The state in `path`; `None` where there is none.
    ///
    /// # Errors
    /// It cannot be read or is not of this version.
    pub(crate) fn read(path: &Path) -> Result<Option<Self>, BuildError> {
        match std::fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|error| BuildError::damaged(path, format!("not the state of a build ({error})"))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(BuildError::io("reading", path)(error)),
        }
    }

    /// Makes the state durable.
    ///
    /// # Errors
    /// The system refused.
    pub(crate) fn write(&self, path: &Path) -> Result<(), BuildError> {
        let text = serde_json::to_vec_pretty(self).expect("strings and numbers are JSON");
        Ok(replace_file(path, &text)?)
    }

    /// The finished members, in the order of a manifest.
    pub(crate) fn members(&self) -> Vec<MemberEntry> {
        let mut entries: Vec<MemberEntry> = self.members.iter().filter_map(Member::entry).collect();
        entries.sort_by_key(|entry| entry.kind);
        entries
    }

    /// The inputs that differ from `other` wherever both name them, for people.
    pub(crate) fn differences(&self, other: &Inputs) -> Option<String> {
        let differ = |(name, there): (&String, &String)| {
            let here = other.get(name)?;
            (here != there).then(|| format!("{name} {there} there, {here} now"))
        };
        let found: Vec<String> = self.inputs.iter().filter_map(differ).collect();
        (!found.is_empty()).then(|| found.join(", "))
    }
}

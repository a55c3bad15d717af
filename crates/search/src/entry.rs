//! The entry axis: where a search begins.

use crate::mem_graph::MemGraph;
use crate::options::MAX_LIST;
use gleann_vector::Element;
use serde::{Deserialize, Serialize};

/// Where a search begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Entry {
    /// At the node nearest to the mean of all vectors.
    #[default]
    Medoid,
    /// At what a search of the navigation graph in memory finds (MemGraph; design-space paper §4.1.3). The index
    /// must have one.
    MemGraph {
        /// Pool length of that search.
        list: u16,
        /// How many of the nearest it finds are begun at; at most `list`.
        points: u16,
    },
}

impl Entry {
    /// MemGraph as measured: a pool of 10 finds what a longer one does, and more than 2 points fill the first beam with
    /// what is seldom worth a read (docs/design/search.md).
    pub const MEM_GRAPH: Entry = Entry::MemGraph { list: 10, points: 2 };

    /// Whether the numbers make an entry.
    pub fn is_valid(self) -> bool {
        match self {
            Entry::Medoid => true,
            Entry::MemGraph { list, points } => {
                (1..=MAX_LIST).contains(&usize::from(list)) && (1..=list).contains(&points)
            }
        }
    }
}

impl std::fmt::Display for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Entry::Medoid => f.pad("medoid"),
            Entry::MemGraph { list, points } => f.pad(&format!("memgraph:{list}-{points}")),
        }
    }
}

impl std::str::FromStr for Entry {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = |pair: &str| {
            let (list, points) = pair.split_once('-')?;
            Some(Entry::MemGraph { list: list.parse().ok()?, points: points.parse().ok()? })
        };
        let entry = match text {
            "medoid" => Some(Entry::Medoid),
            "memgraph" => Some(Entry::MEM_GRAPH),
            _ => text.strip_prefix("memgraph:").and_then(numbers),
        };
        entry.filter(|entry| entry.is_valid()).ok_or_else(|| {
            format!(
                "entry `{text}` is not understood; expected `medoid`, `memgraph` or `memgraph:LIST-POINTS` with \
                 LIST not below POINTS"
            )
        })
    }
}

/// The entry points of an index.
#[derive(Debug)]
pub struct EntryPoints<T: Element> {
    /// The node nearest to the mean of all vectors; none in an empty index.
    pub medoid: Option<u32>,
    /// The navigation graph, where the index has one.
    pub mem_graph: Option<MemGraph<T>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_forms_are_read_and_written() {
        for text in ["medoid", "memgraph:10-10", "memgraph:40-8"] {
            assert_eq!(text.parse::<Entry>().unwrap().to_string(), text);
        }
        assert_eq!("memgraph".parse(), Ok(Entry::MEM_GRAPH));
        for text in ["", "memgraph:", "memgraph:4", "memgraph:4-5", "memgraph:4-0", "memgraph:0-0", "node"] {
            assert!(text.parse::<Entry>().is_err(), "{text}");
        }
    }
}

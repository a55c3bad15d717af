//! The expansion axis: what of a block that has come is used. PageSearch (Starling; design-space paper §4.3.3)
//! uses the whole of it, at no further read.

use crate::error::SearchError;
use crate::index::SearchIndex;
use crate::traversal::{State, Traversal};
use gleann_storage::{BlockId, is_vacant};
use gleann_vector::{Element, Entry as Candidate};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// What of a block that has come is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expansion {
    /// The records that were asked for.
    #[default]
    Record,
    /// PageSearch: every record of the block is measured. Candidates of the pool among them are thereby read, and
    /// of the others the nearest become candidates, if they are nearer than the farthest in the pool.
    Page {
        /// At most this share of a block's records, in percent, become candidates unasked (Starling's use ratio).
        share_pct: u8,
    },
}

impl Expansion {
    /// Whether the numbers make an expansion.
    pub fn is_valid(self) -> bool {
        !matches!(self, Expansion::Page { share_pct } if share_pct > 100)
    }
}

impl std::fmt::Display for Expansion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Expansion::Record => f.pad("record"),
            Expansion::Page { share_pct: 100 } => f.pad("page"),
            Expansion::Page { share_pct } => f.pad(&format!("page:{share_pct}")),
        }
    }
}

impl std::str::FromStr for Expansion {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expansion = match (text, text.strip_prefix("page:").map(str::parse)) {
            ("record", _) => Some(Expansion::Record),
            ("page", _) => Some(Expansion::Page { share_pct: 100 }),
            (_, Some(Ok(share_pct))) => Some(Expansion::Page { share_pct }),
            _ => None,
        };
        expansion.filter(|expansion| expansion.is_valid()).ok_or_else(|| {
            format!(
                "expansion `{text}` is not understood; expected `record`, `page` or `page:PERCENT` of at most 100"
            )
        })
    }
}

/// Memory of PageSearch, kept from block to block.
#[derive(Default)]
pub(crate) struct PageScratch {
    /// For each record of a block its position in the pool, if it is there.
    places: Vec<Option<usize>>,
    /// (exact distance, id) of the records that were not met before.
    mates: Vec<(f32, u32)>,
}

impl Traversal {
    /// Uses what the expansion axis says of a block whose requested records have landed.
    ///
    /// # Errors
    /// A record is damaged.
    pub(crate) fn use_page<T: Element>(
        &mut self,
        index: &SearchIndex<T>,
        query: &[T],
        block: BlockId,
        bytes: &[u8],
    ) -> Result<(), SearchError> {
        let Expansion::Page { share_pct } = self.options.expansion else { return Ok(()) };
        let nodes = index.layout.nodes_of(block, self.nodes);
        let mut page = std::mem::take(&mut self.page);
        page.find_places(&nodes, self.pool.entries());
        page.mates.clear();
        for (id, position) in nodes.zip(&page.places) {
            let state = position.map(|position| self.pool.entries()[position].state);
            if matches!(state, Some(State::Landed(_) | State::Expanded)) {
                continue;
            }
            let place = index.bytes_in(bytes, id);
            if self.view.is_some() && is_vacant(&index.layout, place) {
                continue;
            }
            let record = index.decode((id, self.nodes), place)?;
            let distance = self.measure(index, query, id, &record);
            match *position {
                Some(position) => {
                    *self.pool.state_mut(position) = State::Landed(self.keep(index, id, &record))
                }
                None if self.was_unjudged(id) => self.land_judged(index, (distance, id), &record),
                None if self.visited.insert(id) => page.mates.push((distance, id)),
                None => {}
            }
        }
        let most = (index.layout.records_per_block() - 1) * usize::from(share_pct) / 100;
        page.mates.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        for &(distance, id) in page.mates.iter().take(most) {
            let record = index.decode((id, self.nodes), index.bytes_in(bytes, id))?;
            self.land_judged(index, (distance, id), &record);
        }
        self.page = page;
        Ok(())
    }
}

impl PageScratch {
    fn find_places(&mut self, nodes: &Range<u32>, pool: &[Candidate<State>]) {
        self.places.clear();
        self.places.resize(nodes.len(), None);
        for (position, entry) in pool.iter().enumerate() {
            if nodes.contains(&entry.id) {
                self.places[(entry.id - nodes.start) as usize] = Some(position);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_forms_are_read_and_written() {
        for text in ["record", "page", "page:30", "page:0"] {
            assert_eq!(text.parse::<Expansion>().unwrap().to_string(), text);
        }
        for text in ["", "page:", "page:101", "page:-1", "pages", "record:1"] {
            assert!(text.parse::<Expansion>().is_err(), "{text}");
        }
    }
}

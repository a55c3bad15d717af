//! What a runbook says: steps over a set of tags that changes.

use std::fmt;
use std::ops::Range;

/// The steps of one data set of a runbook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Runbook {
    /// Name of the data set.
    pub data_set: String,
    /// Most points that are live at any time, as the runbook promises.
    pub max_points: u64,
    /// Its steps; step number n is element n − 1.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// All queries.
    Search,
    /// A change, with no search beside it.
    Update(Update),
    /// A change while searches go on without a pause. This is an extension: no published runbook has it.
    Concurrent(Update),
}

/// A change of the set. Tags and rows are half-open ranges of row numbers of the data set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Update {
    /// Rows come in under their numbers.
    Insert(Range<u32>),
    /// Tags go.
    Delete(Range<u32>),
    /// Tags stay and get the vectors of other rows, first to first.
    Replace {
        /// The tags.
        tags: Range<u32>,
        /// The rows whose vectors they get; as many.
        rows: Range<u32>,
    },
}

impl Step {
    /// What is changed, if anything is.
    pub fn update(&self) -> Option<&Update> {
        match self {
            Step::Search => None,
            Step::Update(update) | Step::Concurrent(update) => Some(update),
        }
    }

    /// Whether recall is measured here.
    pub fn searches(&self) -> bool {
        !matches!(self, Step::Update(_))
    }
}

impl Update {
    /// The tags it changes.
    pub fn tags(&self) -> Range<u32> {
        match self {
            Update::Insert(tags) | Update::Delete(tags) | Update::Replace { tags, .. } => tags.clone(),
        }
    }

    /// The row whose vector `tag` gets; none where it goes.
    pub fn row_of(&self, tag: u32) -> Option<u32> {
        match self {
            Update::Insert(_) => Some(tag),
            Update::Delete(_) => None,
            Update::Replace { tags, rows } => Some(rows.start + (tag - tags.start)),
        }
    }

    /// The word of the runbook for it.
    pub fn name(&self) -> &'static str {
        match self {
            Update::Insert(_) => "insert",
            Update::Delete(_) => "delete",
            Update::Replace { .. } => "replace",
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Step::Search => f.write_str("search"),
            Step::Update(update) => update.fmt(f),
            Step::Concurrent(update) => write!(f, "search while {update}"),
        }
    }
}

impl fmt::Display for Update {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tags = self.tags();
        write!(f, "{} {}..{}", self.name(), tags.start, tags.end)?;
        match self {
            Update::Replace { rows, .. } => write!(f, " by rows {}..{}", rows.start, rows.end),
            _ => Ok(()),
        }
    }
}

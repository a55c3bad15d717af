//! What an index is: shape, parameters, and the files that belong to it.

use crate::build_id::BuildId;
use crate::centroid_file::centroid_bytes;
use crate::error::FieldError;
use crate::header::HEADER_BYTES;
use crate::layout::Layout;
use crate::mem_graph_file;
use crate::member::{MemberEntry, MemberKind};
use crate::packing::Packing;
use crate::posting::PostingLayout;
use gleann_vector::{Metric, NodeId};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The longest codebook that is believed.
pub const MAX_CODEBOOK_BYTES: u64 = 256 << 20;

/// The description of a finished index, written last. Holds no time of day: the same input and parameters
/// give the same bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Manifest {
    /// The build that all members belong to.
    pub build_id: BuildId,
    /// What its vectors lie in.
    pub kind: IndexKind,
    /// Record geometry: element type, dimension, degree bound, page size. The degree bound of postings is that of the
    /// graph over their centroids.
    pub layout: Layout,
    /// The metric the graph was built for.
    pub metric: Metric,
    /// Number of vectors.
    pub nodes: u32,
    /// Where searches begin, a vector of a graph or the centroid of a posting; `None` in an empty index only.
    pub entry: Option<NodeId>,
    /// How internal ids were given out.
    pub packing: Packing,
    /// The compressed vectors beside the graph.
    pub codes: CodeFormat,
    /// How the graph was built; later inserts go by the same.
    pub parameters: BuildParameters,
    /// The files, at most one of each kind.
    pub members: Vec<MemberEntry>,
}

/// What the vectors of an index lie in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexKind {
    /// A graph: every vector with its neighbours.
    Graph,
    /// Postings (SPANN): clusters of vectors, each found by its centroid.
    Postings {
        /// Number of postings.
        postings: u32,
        /// Pages of each.
        pages: u32,
    },
}

/// What form the compressed vectors have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeFormat {
    /// There are none.
    None,
    /// Product quantisation: a codebook, and `chunks` bytes a node.
    Pq {
        /// Chunks, that is bytes of one code: 1 to the dimension.
        chunks: u32,
    },
}

impl CodeFormat {
    /// Bytes of the code of one node.
    pub fn bytes_per_node(self) -> usize {
        match self {
            CodeFormat::None => 0,
            CodeFormat::Pq { chunks } => chunks as usize,
        }
    }
}

/// How a graph was built.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildParameters {
    /// Pool length of the searches during the build, ≥ 1.
    pub build_list: u32,
    /// Pruning slack on ordering distances, ≥ 1.
    pub alpha: f32,
    /// Passes over the vectors, ≥ 1.
    pub passes: u32,
    /// Seed of everything random.
    pub seed: u64,
    /// Whatever else shaped the bytes, by name: program version, shards, rounds of k-means, …
    /// A build that is not told apart by the fields above must be told apart here.
    pub options: BTreeMap<String, String>,
}

impl Manifest {
    /// The member of a kind.
    pub fn member(&self, kind: MemberKind) -> Option<&MemberEntry> {
        self.members.iter().find(|entry| entry.kind == kind)
    }

    /// Where the payload of a member begins.
    pub(crate) fn payload_offset(&self, kind: MemberKind) -> u32 {
        match kind {
            MemberKind::Graph | MemberKind::Postings => self.layout.page_size() as u32,
            MemberKind::Codebook
            | MemberKind::Codes
            | MemberKind::Keys
            | MemberKind::MemGraph
            | MemberKind::Centroids => HEADER_BYTES as u32,
        }
    }

    /// Lengths the file of a kind may have: one only, but for the codebook, whose form is not known here, and the
    /// navigation graph, which says its size itself.
    fn file_bytes(&self, kind: MemberKind) -> RangeInclusive<u64> {
        let (nodes, least) = (u64::from(self.nodes), HEADER_BYTES as u64);
        let exactly = |bytes| bytes..=bytes;
        // At most 2³² · 8192 bytes: no overflow.
        match kind {
            MemberKind::Graph => exactly(self.layout.file_bytes(nodes)),
            MemberKind::Codebook => least..=least + MAX_CODEBOOK_BYTES,
            MemberKind::Codes => exactly(least + nodes * self.codes.bytes_per_node() as u64),
            MemberKind::Keys => exactly(least + nodes * 8),
            MemberKind::MemGraph => mem_graph_file::plausible_bytes(self),
            MemberKind::Postings => {
                let (postings, pages) = self.postings();
                exactly((1 + postings * pages) * self.layout.page_size() as u64)
            }
            MemberKind::Centroids => exactly(least + self.postings().0 * centroid_bytes(&self.layout)),
        }
    }

    /// Number of postings and pages of each; zeros in a graph.
    fn postings(&self) -> (u64, u64) {
        match self.kind {
            IndexKind::Graph => (0, 0),
            IndexKind::Postings { postings, pages } => (postings.into(), pages.into()),
        }
    }

    /// Holds every field against the others. Both sides of the disk do this: what is not valid is neither
    /// written nor read.
    ///
    /// # Errors
    /// The first field that cannot be.
    pub fn validate(&self) -> Result<(), FieldError> {
        self.validate_shape()?;
        self.validate_parameters()?;
        self.validate_members()?;
        self.members.iter().try_for_each(|entry| self.validate_member(entry))
    }

    fn validate_shape(&self) -> Result<(), FieldError> {
        let entries = match self.kind {
            IndexKind::Graph => self.nodes,
            IndexKind::Postings { postings, .. } => postings,
        };
        match self.entry {
            None if entries > 0 => {
                return Err(FieldError::new("the entry point", "absent", format!("a node below {entries}")));
            }
            Some(node) if node.0 >= entries => {
                let expected = format!("a node below {entries}");
                return Err(FieldError::new("the entry point", format!("node {}", node.0), expected));
            }
            _ => {}
        }
        self.validate_postings()?;
        match self.codes {
            CodeFormat::Pq { chunks } if chunks == 0 || chunks as usize > self.layout.dim() => {
                let expected = format!("1 to {}, the dimension", self.layout.dim());
                Err(FieldError::new("the number of PQ chunks", chunks, expected))
            }
            _ => self.validate_record_codes(),
        }
    }

    fn validate_postings(&self) -> Result<(), FieldError> {
        let IndexKind::Postings { postings, pages } = self.kind else { return Ok(()) };
        let layout = PostingLayout::new(self.layout, pages as usize)
            .map_err(|error| FieldError::new("the posting", error, "a supported one"))?;
        // Each holds at least one vector, and together they have room for all.
        let least = u64::from(self.nodes).div_ceil(layout.capacity() as u64);
        if u64::from(postings) < least || (self.nodes == 0 && postings > 0) {
            let expected = format!("{least} or more for {} vectors", self.nodes);
            return Err(FieldError::new("the number of postings", postings, expected));
        }
        if self.codes != CodeFormat::None || self.layout.code_bytes() != 0 {
            return Err(FieldError::new("the code format", "PQ", "none in an index of postings"));
        }
        Ok(())
    }

    fn validate_record_codes(&self) -> Result<(), FieldError> {
        let (in_record, code) = (self.layout.code_bytes(), self.codes.bytes_per_node());
        if in_record != 0 && in_record != code {
            let expected = format!("0, or the {code} bytes of a code");
            return Err(FieldError::new("the bytes of neighbour codes in a record", in_record, expected));
        }
        Ok(())
    }

    fn validate_parameters(&self) -> Result<(), FieldError> {
        let BuildParameters { build_list, alpha, passes, .. } = self.parameters;
        if build_list == 0 {
            return Err(FieldError::new("the build list", build_list, "1 or more"));
        }
        if !(alpha.is_finite() && alpha >= 1.0) {
            return Err(FieldError::new("alpha", alpha, "a finite number, 1 or more"));
        }
        if passes == 0 {
            return Err(FieldError::new("the number of passes", passes, "1 or more"));
        }
        Ok(())
    }

    /// Holds the set of members against what the index says of itself.
    fn validate_members(&self) -> Result<(), FieldError> {
        let pq = matches!(self.codes, CodeFormat::Pq { .. });
        let graph = usize::from(self.kind == IndexKind::Graph);
        for kind in MemberKind::ALL {
            let count = self.members.iter().filter(|entry| entry.kind == kind).count();
            let expected = match kind {
                MemberKind::Graph => graph..=graph,
                MemberKind::Postings | MemberKind::Centroids => 1 - graph..=1 - graph,
                MemberKind::Codebook => usize::from(pq)..=usize::from(pq),
                // In an All-in-Storage index the records hold them.
                MemberKind::Codes => {
                    let apart = usize::from(pq && self.layout.code_bytes() == 0);
                    apart..=apart
                }
                MemberKind::Keys => usize::from(!self.packing.ids_are_rows())..=1,
                MemberKind::MemGraph => 0..=1,
            };
            if !expected.contains(&count) {
                let found = format!("{count} like {}", kind.file_name());
                let expected = format!("{} to {}", expected.start(), expected.end());
                return Err(FieldError::new("the number of members", found, expected));
            }
        }
        for (position, entry) in self.members.iter().enumerate() {
            if self.members[..position].iter().any(|other| other.name == entry.name) {
                let found = format!("\"{}\" twice", entry.name.escape_default());
                return Err(FieldError::new("a member name", found, "different names"));
            }
        }
        Ok(())
    }

    fn validate_member(&self, entry: &MemberEntry) -> Result<(), FieldError> {
        if !is_plain_name(&entry.name) {
            let found = format!("\"{}\"", entry.name.escape_default());
            let expected = "1 to 64 of a-z, 0-9, '.', '_' and '-', beginning with a letter";
            return Err(FieldError::new("a member name", found, expected));
        }
        let expected = self.file_bytes(entry.kind);
        if !expected.contains(&entry.bytes) {
            let found = format!("{} bytes for {}", entry.bytes, entry.name);
            let (least, most) = expected.into_inner();
            let expected = if least == most { least.to_string() } else { format!("{least} to {most}") };
            return Err(FieldError::new("the length of a member", found, expected));
        }
        Ok(())
    }
}

/// No path, no upper case (the manifest is `MANIFEST`), no hidden file.
fn is_plain_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"._-".contains(&byte))
}

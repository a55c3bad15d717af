//! The members of an index: the files that its manifest names.

/// What a member holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MemberKind {
    /// Vectors and neighbour lists, in blocks.
    Graph,
    /// What turns codes into distances.
    Codebook,
    /// One code a node, in id order.
    Codes,
    /// One key a node, in id order. Absent where the key of a node is its id.
    Keys,
    /// The navigation graph over a sample of the nodes. Absent where searches begin at the entry point only.
    MemGraph,
    /// Posting lists, one block each.
    Postings,
    /// The centroid of each posting, and the graph over them.
    Centroids,
}

impl MemberKind {
    /// Every kind, in the order in which a manifest lists them.
    pub const ALL: [MemberKind; 7] = [
        MemberKind::Graph,
        MemberKind::Codebook,
        MemberKind::Codes,
        MemberKind::Keys,
        MemberKind::MemGraph,
        MemberKind::Postings,
        MemberKind::Centroids,
    ];

    /// The name a new member gets.
    pub const fn file_name(self) -> &'static str {
        match self {
            MemberKind::Graph => "graph.gln",
            MemberKind::Codebook => "pq.codebook",
            MemberKind::Codes => "pq.codes",
            MemberKind::Keys => "keys.u64",
            MemberKind::MemGraph => "mem.graph",
            MemberKind::Postings => "postings.gln",
            MemberKind::Centroids => "centroids.gln",
        }
    }

    /// Four ASCII characters that stand for the kind in headers and manifests.
    pub(crate) const fn tag(self) -> [u8; 4] {
        match self {
            MemberKind::Graph => *b"GRPH",
            MemberKind::Codebook => *b"BOOK",
            MemberKind::Codes => *b"CODE",
            MemberKind::Keys => *b"KEYS",
            MemberKind::MemGraph => *b"MEMG",
            MemberKind::Postings => *b"POST",
            MemberKind::Centroids => *b"CENT",
        }
    }
}

/// One member as the manifest knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberEntry {
    /// What it holds.
    pub kind: MemberKind,
    /// File name inside the index directory.
    pub name: String,
    /// Length of the file.
    pub bytes: u64,
    /// Checksum of the whole file, header included.
    pub crc32c: u32,
}

//! The file `MANIFEST`: its bytes, and the commit of an index.
//!
//! Header, then the body in the form of the codec; the fields of [`Body`] in their order.

use crate::atomic_file::replace_file;
use crate::build_id::BuildId;
use crate::codec::{self, Decode, Encode};
use crate::error::{FieldError, StorageError};
use crate::header::{DAMAGED, FORMAT_VERSION, HEADER_BYTES, Header, hex};
use crate::layout::Layout;
use crate::manifest::{BuildParameters, CodeFormat, IndexKind, Manifest};
use crate::member::{MemberEntry, MemberKind};
use crate::member_reader::MemberReader;
use crate::packing::Packing;
use gleann_vector::{ElementType, Metric, NodeId};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Name of the file that makes a directory an index.
pub const MANIFEST_NAME: &str = "MANIFEST";

const TAG: [u8; 4] = *b"MANI";
const NO_CODES: u8 = 0;
const PQ_CODES: u8 = 1;

/// The manifest as it is stored. Codes of enums are their positions in their `ALL`.
#[derive(Encode, Decode)]
struct Body {
    element: u8,
    metric: u8,
    packing: u8,
    code_format: u8,
    dim: u32,
    degree: u32,
    page_size: u32,
    nodes: u32,
    entry: Option<u32>,
    code_bytes: u32,
    record_code_bytes: u32,
    /// 0 in a graph.
    posting_pages: u32,
    postings: u32,
    build_list: u32,
    alpha: f32,
    passes: u32,
    seed: u64,
    options: Vec<(String, String)>,
    members: Vec<BodyMember>,
}

#[derive(Encode, Decode)]
struct BodyMember {
    kind: [u8; 4],
    name: String,
    bytes: u64,
    crc32c: u32,
}

impl Body {
    fn of(manifest: &Manifest) -> Self {
        let Manifest { layout, parameters, .. } = manifest;
        let (postings, posting_pages) = match manifest.kind {
            IndexKind::Graph => (0, 0),
            IndexKind::Postings { postings, pages } => (postings, pages),
        };
        Self {
            element: position(&ElementType::ALL, layout.element()),
            metric: position(&Metric::ALL, manifest.metric),
            packing: position(&Packing::ALL, manifest.packing),
            code_format: match manifest.codes {
                CodeFormat::None => NO_CODES,
                CodeFormat::Pq { .. } => PQ_CODES,
            },
            dim: layout.dim() as u32,
            degree: layout.degree() as u32,
            page_size: layout.page_size() as u32,
            nodes: manifest.nodes,
            entry: manifest.entry.map(|node| node.0),
            code_bytes: manifest.codes.bytes_per_node() as u32,
            record_code_bytes: layout.code_bytes() as u32,
            posting_pages,
            postings,
            build_list: parameters.build_list,
            alpha: parameters.alpha,
            passes: parameters.passes,
            seed: parameters.seed,
            options: parameters.options.clone().into_iter().collect(),
            members: manifest.members.iter().map(BodyMember::of).collect(),
        }
    }

    fn into_manifest(self, build_id: BuildId) -> Result<Manifest, FieldError> {
        let element = pick("the element type", &ElementType::ALL, self.element)?;
        let layout = Layout::new(element, self.dim as usize, self.degree as usize, self.page_size as usize)
            .and_then(|layout| layout.with_codes(self.record_code_bytes as usize))
            .map_err(|error| FieldError::new("the layout", error, "a supported one"))?;
        if !self.options.is_sorted_by(|a, b| a.0 < b.0) {
            return Err(FieldError::new("the list of options", "out of order", "ascending, different names"));
        }
        let manifest = Manifest {
            build_id,
            kind: index_kind(self.postings, self.posting_pages)?,
            layout,
            metric: pick("the metric", &Metric::ALL, self.metric)?,
            nodes: self.nodes,
            entry: self.entry.map(NodeId),
            packing: pick("the packing", &Packing::ALL, self.packing)?,
            codes: code_format(self.code_format, self.code_bytes)?,
            parameters: BuildParameters {
                build_list: self.build_list,
                alpha: self.alpha,
                passes: self.passes,
                seed: self.seed,
                options: self.options.into_iter().collect(),
            },
            members: self.members.into_iter().map(BodyMember::into_entry).collect::<Result<_, _>>()?,
        };
        manifest.validate()?;
        Ok(manifest)
    }
}

impl BodyMember {
    fn of(entry: &MemberEntry) -> Self {
        Self { kind: entry.kind.tag(), name: entry.name.clone(), bytes: entry.bytes, crc32c: entry.crc32c }
    }

    fn into_entry(self) -> Result<MemberEntry, FieldError> {
        let kind = MemberKind::ALL.into_iter().find(|kind| kind.tag() == self.kind).ok_or_else(|| {
            let found = format!("\"{}\"", self.kind.escape_ascii());
            FieldError::new("the kind of a member", found, "GRPH, BOOK, CODE, KEYS, MEMG, POST or CENT")
        })?;
        Ok(MemberEntry { kind, name: self.name, bytes: self.bytes, crc32c: self.crc32c })
    }
}

fn index_kind(postings: u32, pages: u32) -> Result<IndexKind, FieldError> {
    match (postings, pages) {
        (0, 0) => Ok(IndexKind::Graph),
        (_, 0) => Err(FieldError::new("the pages of a posting", 0, "1 or more where there are postings")),
        (postings, pages) => Ok(IndexKind::Postings { postings, pages }),
    }
}

fn code_format(format: u8, bytes: u32) -> Result<CodeFormat, FieldError> {
    match (format, bytes) {
        (NO_CODES, 0) => Ok(CodeFormat::None),
        (PQ_CODES, chunks) => Ok(CodeFormat::Pq { chunks }),
        _ => {
            let found = format!("{format} with {bytes} bytes a code");
            Err(FieldError::new("the code format", found, "0 (none, 0 bytes) or 1 (PQ)"))
        }
    }
}

fn position<T: PartialEq + Copy>(all: &[T], value: T) -> u8 {
    all.iter().position(|&other| other == value).expect("ALL lists every value") as u8
}

fn pick<T: Copy>(field: &'static str, all: &[T], code: u8) -> Result<T, FieldError> {
    let expected = || format!("below {}", all.len());
    all.get(usize::from(code)).copied().ok_or_else(|| FieldError::new(field, code, expected()))
}

impl Manifest {
    /// The build id that follows from the input (any bytes that tell it from another: length, checksums) and
    /// from every field of this manifest but the results of the build: build id, entry point,
    /// number of postings and members.
    pub fn derive_build_id(&self, input: &[u8]) -> BuildId {
        let mut body = Body::of(self);
        body.entry = None;
        body.postings = 0;
        body.members.clear();
        BuildId::of(&[&FORMAT_VERSION.to_le_bytes(), input, &codec::encode(&body)])
    }

    /// Turns `dir` into an index (or into this version of it), atomically and durably: checks that every
    /// member is there and belongs to this build, then writes `MANIFEST`.
    ///
    /// # Errors
    /// The manifest is not valid, a member is missing or foreign, or the system refused; the old manifest, or
    /// none, stands.
    pub fn publish(&self, dir: &Path) -> Result<(), StorageError> {
        let path = dir.join(MANIFEST_NAME);
        self.validate().map_err(|error| error.at(&path, "the build gave an impossible index"))?;
        for entry in &self.members {
            MemberReader::open(dir, self, entry.kind)?;
        }
        replace_file(&path, &self.file_content(&path)?)
    }

    fn file_content(&self, path: &Path) -> Result<Vec<u8>, StorageError> {
        let payload = codec::encode(&Body::of(self));
        if payload.len() > codec::LIMIT {
            let expected = format!("at most {}", codec::LIMIT);
            return Err(FieldError::new("the length of the body", payload.len(), expected)
                .at(path, "the build options are too long"));
        }
        let header = Header {
            kind: TAG,
            build_id: self.build_id,
            payload_bytes: payload.len() as u64,
            payload_offset: HEADER_BYTES as u32,
            payload_crc: crc32c::crc32c(&payload),
        };
        Ok([&header.encode()[..], &payload].concat())
    }

    /// Reads `dir/MANIFEST`. The members are not looked at.
    ///
    /// # Errors
    /// There is none, it is damaged, from another version, or its fields cannot be.
    pub fn read(dir: &Path) -> Result<Self, StorageError> {
        let path = dir.join(MANIFEST_NAME);
        let file = File::open(&path).map_err(|error| not_an_index(dir, error))?;
        let most = HEADER_BYTES + codec::LIMIT;
        let mut bytes = Vec::new();
        file.take(most as u64 + 1).read_to_end(&mut bytes).map_err(StorageError::io("reading", &path))?;
        let length = |expected: String| {
            let found = if bytes.len() > most {
                format!("more than {most} bytes")
            } else {
                format!("{} bytes", bytes.len())
            };
            FieldError::new("the length", found, expected).at(&path, DAMAGED)
        };
        let Some((start, payload)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
            return Err(length(format!("at least {HEADER_BYTES}")));
        };
        let header = Header::decode(start, TAG, &path)?;
        if header.payload_bytes != payload.len() as u64 || header.payload_offset != HEADER_BYTES as u32 {
            return Err(length(format!("{} after {}", header.payload_bytes, header.payload_offset)));
        }
        let crc = crc32c::crc32c(payload);
        if crc != header.payload_crc {
            let expected = format!("{} as stored", hex(header.payload_crc));
            return Err(FieldError::new("the checksum of the body", hex(crc), expected).at(&path, DAMAGED));
        }
        let body: Body = codec::decode(payload).map_err(|error| {
            FieldError::new("the body", error, "the fields of this version").at(&path, DAMAGED)
        })?;
        body.into_manifest(header.build_id).map_err(|error| error.at(&path, DAMAGED))
    }
}

fn not_an_index(dir: &Path, error: io::Error) -> StorageError {
    let found = match error.kind() {
        io::ErrorKind::NotADirectory => "it is not a directory; give the directory that the build wrote",
        io::ErrorKind::NotFound if !dir.exists() => "it does not exist; build one with build-index",
        io::ErrorKind::NotFound => {
            "it has no MANIFEST; if a build was interrupted, continue it with the same build-index command"
        }
        _ => return StorageError::io("opening", &dir.join(MANIFEST_NAME))(error),
    };
    StorageError::NotAnIndex { path: dir.to_owned(), found }
}

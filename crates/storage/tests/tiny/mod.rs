//! A tiny index of every shape that the scenarios damage, copy and compare.
#![allow(dead_code, clippy::unwrap_used)]

use gleann_storage::{
    BuildId, BuildParameters, CodeFormat, GraphWriter, IndexDirectory, IndexKind, Layout, Manifest,
    NewRecord, Packing, StorageError, check_index, write_codebook, write_codes, write_keys, write_report,
};
use gleann_vector::{Element, Matrix, Metric, NodeId, Silent};
use std::collections::BTreeMap;
use std::path::Path;

/// Every file of an index with all members, in the order in which they are written.
pub const MEMBERS: [&str; 4] = ["graph.gln", "pq.codebook", "pq.codes", "keys.u64"];

/// Shape of an index to make.
#[derive(Debug, Clone)]
pub struct Tiny {
    pub dim: usize,
    pub degree: usize,
    pub page_size: usize,
    pub nodes: u32,
    pub chunks: u32,
    pub keys: bool,
    pub seed: u64,
}

impl Default for Tiny {
    /// Six records a page in three pages, the last half full; codes and keys of the same length.
    fn default() -> Self {
        Self { dim: 200, degree: 100, page_size: 4096, nodes: 15, chunks: 8, keys: true, seed: 1 }
    }
}

impl Tiny {
    pub fn layout<T: Element>(&self) -> Layout {
        Layout::new(T::TYPE, self.dim, self.degree, self.page_size).unwrap()
    }

    pub fn vector<T: Element>(&self, node: u32) -> Vec<T> {
        let value = |i: usize| ((u64::from(node) * 31 + i as u64 * 7 + self.seed) % 100) as f32;
        (0..self.dim).map(|i| T::from_f32(value(i)).unwrap()).collect()
    }

    /// The following nodes, as many as fit, one fewer for each fifth node.
    pub fn neighbours(&self, node: u32) -> Vec<u32> {
        let most = (self.degree as u32).min(self.nodes - 1).saturating_sub(node % 5);
        (1..=most).map(|step| ((u64::from(node) + u64::from(step)) % u64::from(self.nodes)) as u32).collect()
    }

    pub fn codes(&self) -> Matrix<u8> {
        let mut codes = Matrix::zeroed(self.nodes as usize, self.chunks as usize);
        for (i, code) in codes.as_mut_slice().iter_mut().enumerate() {
            *code = ((i as u64 * 5 + self.seed) % 16) as u8;
        }
        codes
    }

    pub fn keys(&self) -> Vec<u64> {
        (0..u64::from(self.nodes)).map(|node| u64::MAX - node * 3).collect()
    }

    /// 16 centroids in every chunk.
    pub fn codebook(&self) -> Vec<u8> {
        (0..self.chunks).flat_map(|_| 16u32.to_le_bytes()).collect()
    }

    fn draft<T: Element>(&self) -> Manifest {
        let mut manifest = Manifest {
            build_id: BuildId([0; 16]),
            kind: IndexKind::Graph,
            layout: self.layout::<T>(),
            metric: Metric::Cosine,
            nodes: self.nodes,
            entry: (self.nodes > 0).then_some(NodeId(self.nodes / 2)),
            packing: Packing::ById,
            codes: match self.chunks {
                0 => CodeFormat::None,
                chunks => CodeFormat::Pq { chunks },
            },
            parameters: BuildParameters {
                build_list: 125,
                alpha: 1.2,
                passes: 2,
                seed: self.seed,
                options: BTreeMap::from([("shards".into(), "1".into()), ("program".into(), "tiny".into())]),
            },
            members: Vec::new(),
        };
        manifest.build_id = manifest.derive_build_id(b"input");
        manifest
    }

    /// Builds the index into `dir`, the manifest last.
    pub fn build<T: Element>(&self, dir: &Path) -> Result<Manifest, StorageError> {
        let mut manifest = self.draft::<T>();
        let id = manifest.build_id;
        let mut graph = GraphWriter::create(dir, manifest.layout, self.nodes, id)?;
        for node in 0..self.nodes {
            let (vector, neighbours) = (self.vector::<T>(node), self.neighbours(node));
            graph.push(&NewRecord { vector: &vector, neighbours: &neighbours, codes: &[] })?;
        }
        manifest.members.push(graph.finish()?);
        if self.chunks > 0 {
            manifest.members.push(write_codebook(dir, id, &self.codebook())?);
            manifest.members.push(write_codes(dir, id, &self.codes())?);
        }
        if self.keys {
            manifest.members.push(write_keys(dir, id, &self.keys())?);
        }
        write_report(dir, id, serde_json::Map::from_iter([("seconds".into(), 1.5.into())]))?;
        manifest.publish(dir)?;
        Ok(manifest)
    }
}

/// Reads a codebook of [`Tiny::codebook`]'s form.
pub fn centroids(codebook: &[u8]) -> Result<Vec<u32>, String> {
    if !codebook.len().is_multiple_of(4) {
        return Err(format!("{} bytes, expected a multiple of 4", codebook.len()));
    }
    Ok(codebook.chunks_exact(4).map(|c| u32::from_le_bytes(c.try_into().unwrap())).collect())
}

/// What a check says; empty where nothing is wrong.
pub fn check(dir: &Path) -> Vec<String> {
    match check_index(dir, &centroids, &Silent) {
        Ok(report) => report.problems.iter().map(ToString::to_string).collect(),
        Err(error) => vec![error.to_string()],
    }
}

/// Opens the index and loads all of it, as a search would and more.
pub fn load_all(dir: &Path) -> Result<(), StorageError> {
    let index = IndexDirectory::open(dir)?;
    index.codebook()?;
    index.codes()?;
    index.keys()?;
    index.graph()?.for_each_record(&Silent, |_, _| {})
}

/// A checksum as headers store it.
pub fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

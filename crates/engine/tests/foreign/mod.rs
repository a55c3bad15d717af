//! Writes the files of DiskANN's family, from their description, independently of what the library writes.
#![allow(dead_code, clippy::unwrap_used)]

use gleann_vector::{Element, Matrix};
use std::path::{Path, PathBuf};

pub const SECTOR: usize = 4096;

/// An index as these programs would write it.
pub struct Foreign<T: Element> {
    pub vectors: Matrix<T>,
    pub lists: Vec<Vec<u32>>,
    pub degree: usize,
    pub medoid: u32,
    pub chunks: usize,
}

impl<T: Element> Foreign<T> {
    /// A ring with chords, so that every node is reached and a list has no structure of its own.
    pub fn new(vectors: Matrix<T>, degree: usize) -> Self {
        let nodes = vectors.rows() as u32;
        let list = |node: u32| {
            let mut list = vec![(node + 1) % nodes];
            for step in 1..degree as u32 - node % 2 {
                let other = (node + step * step * 7 + 3) % nodes;
                if other != node && !list.contains(&other) {
                    list.push(other);
                }
            }
            list
        };
        let lists = (0..nodes).map(list).collect();
        Self { vectors, lists, degree, medoid: nodes / 3, chunks: 4 }
    }

    pub fn nodes(&self) -> u32 {
        self.vectors.rows() as u32
    }

    pub fn node_bytes(&self) -> usize {
        self.vectors.dim() * size_of::<T>() + 4 + 4 * self.degree
    }

    pub fn per_sector(&self) -> usize {
        SECTOR / self.node_bytes()
    }

    fn node(&self, id: u32) -> Vec<u8> {
        let list = &self.lists[id as usize];
        let mut bytes: Vec<u8> = bytemuck::cast_slice(self.vectors.row(id as usize)).to_vec();
        bytes.extend((list.len() as u32).to_le_bytes());
        bytes.extend(list.iter().flat_map(|id| id.to_le_bytes()));
        bytes.resize(self.node_bytes(), 0);
        bytes
    }

    /// The disk file with nodes on the pages given.
    pub fn disk(&self, pages: &[Vec<u32>]) -> Vec<u8> {
        let block = self.node_bytes().next_multiple_of(SECTOR);
        let length = SECTOR + pages.len() * block;
        let head = [
            self.nodes().into(),
            self.vectors.dim() as u64,
            self.medoid.into(),
            self.node_bytes() as u64,
            self.per_sector() as u64,
            0,
            0,
            0,
            length as u64,
        ];
        let mut bytes = array(9, 1, bytemuck::cast_slice(&head));
        bytes.resize(SECTOR, 0);
        for page in pages {
            let start = bytes.len();
            page.iter().for_each(|&id| bytes.extend(self.node(id)));
            bytes.resize(start + block, 0);
        }
        bytes
    }

    /// Pages in the order of ids.
    pub fn pages(&self) -> Vec<Vec<u32>> {
        let ids: Vec<u32> = (0..self.nodes()).collect();
        ids.chunks(self.per_sector().max(1)).map(<[u32]>::to_vec).collect()
    }

    /// A codebook whose centroids are vectors of the set less the mean: two arrays of floats.
    pub fn codebook(&self) -> (Vec<f32>, Vec<f32>) {
        let dim = self.vectors.dim();
        let mut mean = vec![0.0f32; dim];
        for row in 0..self.vectors.rows() {
            mean.iter_mut().zip(self.vectors.row(row)).for_each(|(mean, x)| *mean += x.to_f32());
        }
        mean.iter_mut().for_each(|mean| *mean = (*mean / self.vectors.rows() as f32).round());
        let row = |id: usize| self.vectors.row(id * 5 % self.vectors.rows());
        let table = (0..256).flat_map(|id| row(id).iter().zip(&mean).map(|(x, mean)| x.to_f32() - mean));
        (table.collect(), mean)
    }

    pub fn bounds(&self) -> Vec<u32> {
        let dim = self.vectors.dim();
        (0..=self.chunks).map(|chunk| (chunk * dim / self.chunks) as u32).collect()
    }

    /// The codebook file, with a permutation if one is given.
    pub fn pivots(&self, permutation: Option<&[u32]>) -> Vec<u8> {
        let (table, mean) = self.codebook();
        let dim = mean.len() as u32;
        let mut arrays =
            vec![array(256, dim, bytemuck::cast_slice(&table)), array(dim, 1, bytemuck::cast_slice(&mean))];
        arrays.extend(permutation.map(|order| array(dim, 1, bytemuck::cast_slice(order))));
        let bounds = self.bounds();
        arrays.push(array(bounds.len() as u32, 1, bytemuck::cast_slice(&bounds)));
        let mut offsets = vec![SECTOR as u64];
        arrays.iter().for_each(|array| offsets.push(offsets.last().unwrap() + array.len() as u64));
        let mut bytes = array(offsets.len() as u32, 1, bytemuck::cast_slice(&offsets));
        bytes.resize(SECTOR, 0);
        bytes.extend(arrays.concat());
        bytes
    }

    /// The code of every vector, by brute force.
    pub fn codes(&self) -> Vec<u8> {
        let (table, mean) = self.codebook();
        let (dim, bounds) = (mean.len(), self.bounds());
        let mut codes = Vec::new();
        for row in 0..self.vectors.rows() {
            let row: Vec<f32> =
                self.vectors.row(row).iter().zip(&mean).map(|(x, mean)| x.to_f32() - mean).collect();
            for bound in bounds.windows(2) {
                let chunk = bound[0] as usize..bound[1] as usize;
                let distance = |id: usize| -> f32 {
                    let centroid = &table[id * dim..][chunk.clone()];
                    row[chunk.clone()].iter().zip(centroid).map(|(x, c)| (x - c) * (x - c)).sum()
                };
                let nearest = (0..256).min_by(|&a, &b| distance(a).total_cmp(&distance(b)).then(a.cmp(&b)));
                codes.push(nearest.unwrap() as u8);
            }
        }
        array(self.nodes(), self.chunks as u32, &codes)
    }

    /// Writes disk file, codebook and codes; returns the prefix.
    pub fn write(&self, dir: &Path) -> PathBuf {
        let prefix = dir.join("ann");
        put(&prefix, "_disk.index", &self.disk(&self.pages()));
        put(&prefix, "_pq_pivots.bin", &self.pivots(None));
        put(&prefix, "_pq_compressed.bin", &self.codes());
        prefix
    }
}

/// An array as these programs write it: two words, then the values.
pub fn array(rows: u32, columns: u32, values: &[u8]) -> Vec<u8> {
    [&rows.to_le_bytes()[..], &columns.to_le_bytes(), values].concat()
}

/// Starling's partition file.
pub fn partition(per_page: usize, pages: &[Vec<u32>]) -> Vec<u8> {
    let nodes: usize = pages.iter().map(Vec::len).sum();
    let mut page_of = vec![0u32; nodes];
    let mut bytes: Vec<u8> =
        [per_page, pages.len(), nodes].iter().flat_map(|&n| (n as u64).to_le_bytes()).collect();
    for (number, page) in pages.iter().enumerate() {
        bytes.extend((page.len() as u32).to_le_bytes());
        bytes.extend(page.iter().flat_map(|id| id.to_le_bytes()));
        page.iter().for_each(|&id| page_of[id as usize] = number as u32);
    }
    bytes.extend(page_of.iter().flat_map(|page| page.to_le_bytes()));
    bytes
}

/// PipeANN's partition file.
pub fn aligned_partition(per_page: usize, pages: &[Vec<u32>]) -> Vec<u8> {
    let nodes: usize = pages.iter().map(Vec::len).sum();
    let mut bytes: Vec<u8> =
        [per_page, pages.len(), nodes].iter().flat_map(|&n| (n as u64).to_le_bytes()).collect();
    for page in pages {
        let padded = page.iter().copied().chain(std::iter::repeat(u32::MAX)).take(per_page);
        bytes.extend(padded.flat_map(u32::to_le_bytes));
    }
    bytes
}

/// Writes the file of a prefix.
pub fn put(prefix: &Path, rest: &str, bytes: &[u8]) -> PathBuf {
    let path = PathBuf::from(format!("{}{rest}", prefix.display()));
    std::fs::write(&path, bytes).unwrap();
    path
}

//! A small index on the simulated disk, and the brute force it is held against.

#![allow(dead_code)] // each test file uses its own part

use gleann_graph::{BuildDistance, BuildParams};
use gleann_quant::{Codebook, Codes, PqParams};
use gleann_search::{
    Cache, Driver, EntryPoints, Estimates, Found, MemGraph, Points, Query, Records, SearchError, SearchIndex,
    SearchOptions, Turn,
};
use gleann_storage::{
    BlockId, BlockReader, Layout, NewRecord, ReadTarget, SimDisk, SimOptions, VirtualClock, encode_record,
    record_bytes, seal_block,
};
use gleann_vector::{Distance, Element, Matrix, Metric, NodeId, Silent};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub const DEGREE: usize = 12;

/// An index, its disk image, and queries.
pub struct Small<T: Element> {
    pub vectors: Matrix<T>,
    pub queries: Vec<Vec<T>>,
    pub index: Arc<SearchIndex<T>>,
    pub image: Arc<[u8]>,
}

/// Clustered vectors of small integers, which every element type holds exactly.
pub fn clustered<T: Element>(rows: usize, dim: usize, seed: u64) -> Matrix<T> {
    let mut random = Pcg64::seed_from_u64(seed);
    let centres: Vec<Vec<f32>> =
        (0..8).map(|_| (0..dim).map(|_| random.random_range(10..90) as f32).collect()).collect();
    let mut matrix = Matrix::<T>::zeroed(rows, dim);
    for row in 0..rows {
        let centre = &centres[random.random_range(0..centres.len())];
        for (to, c) in matrix.row_mut(row).iter_mut().zip(centre) {
            *to = T::from_f32(c + random.random_range(-10..11) as f32).unwrap();
        }
    }
    matrix
}

/// The graph: each node's nearest ones, and a few far ones so that everything is reachable.
fn neighbours<T: Element>(vectors: &Matrix<T>, distance: &Distance<T>, node: usize) -> Vec<u32> {
    let n = vectors.rows();
    let mut by_distance: Vec<(f32, u32)> = (0..n)
        .filter(|&other| other != node)
        .map(|other| (distance.between(vectors.row(node), vectors.row(other)), other as u32))
        .collect();
    by_distance.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut list: Vec<u32> = by_distance.iter().take(DEGREE - 4).map(|entry| entry.1).collect();
    for step in [1, 7, 31, 127] {
        let other = ((node + step) % n) as u32;
        if other as usize != node && !list.contains(&other) {
            list.push(other);
        }
    }
    list
}

/// A navigation graph over every seventh node.
fn mem_graph<T: Element>(
    vectors: &Matrix<T>,
    coded: (&Matrix<u8>, &Codebook),
    judged: Judged,
) -> MemGraph<T> {
    let (codes, codebook) = coded;
    let nodes: Vec<u32> = (0..vectors.rows() as u32).step_by(7).collect();
    let mut rows = Matrix::<T>::zeroed(nodes.len(), vectors.dim());
    let mut kept = Matrix::<u8>::zeroed(nodes.len(), codes.dim());
    for (row, &node) in nodes.iter().enumerate() {
        rows.row_mut(row).copy_from_slice(vectors.row(node as usize));
        kept.row_mut(row).copy_from_slice(codes.row(node as usize));
    }
    let distance = BuildDistance::new(Metric::L2, &rows);
    let params = BuildParams { degree: 8, list: 16, ..BuildParams::default() };
    let graph = gleann_graph::build(&rows, &distance, &params, &Silent).unwrap();
    let points = match judged {
        Judged::Off => Points::Vectors(rows),
        Judged::Memory | Judged::Record => Points::Codes(Codes::new(kept, codebook).unwrap()),
    };
    MemGraph::new(nodes, points, graph)
}

/// How neighbours are judged: the three values of the axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judged {
    Memory,
    Record,
    Off,
}

pub fn small<T: Element>(metric: Metric, rows: usize, dim: usize, page_size: usize) -> Small<T> {
    small_judged(metric, (rows, dim), page_size, Judged::Memory)
}

pub fn small_judged<T: Element>(
    metric: Metric,
    (rows, dim): (usize, usize),
    page_size: usize,
    judged: Judged,
) -> Small<T> {
    let all = clustered::<T>(rows + 20, dim, 42);
    let vectors = Matrix::from_rows(&all.as_slice()[..rows * dim], dim);
    let queries = (rows..rows + 20).map(|row| all.row(row).to_vec()).collect();
    let distance = Distance::new(metric, dim);
    let sample: Vec<f32> = vectors.as_slice().iter().map(|x| x.to_f32()).collect();
    let codebook =
        Codebook::train(&Matrix::from_rows(&sample, dim), PqParams::new(metric, dim / 2), &Silent).unwrap();
    let mut codes = Matrix::<u8>::zeroed(rows, dim / 2);
    codebook.encode_rows(vectors.as_slice(), codes.as_mut_slice());
    let in_record = if judged == Judged::Record { dim / 2 } else { 0 };
    let layout = Layout::new(T::TYPE, dim, DEGREE, page_size).unwrap().with_codes(in_record).unwrap();
    let mut image = vec![0u8; layout.file_bytes(rows as u64) as usize];
    let mut record = vec![0u8; layout.record_bytes()];
    for node in 0..rows {
        let list = if rows > 1 { neighbours(&vectors, &distance, node) } else { vec![] };
        let beside: Vec<u8> =
            list.iter().flat_map(|&id| codes.row(id as usize)[..in_record].to_vec()).collect();
        let new = NewRecord { vector: vectors.row(node), neighbours: &list, codes: &beside };
        encode_record(&layout, &new, &mut record);
        let id = NodeId(node as u32);
        let start = layout.offset(layout.block_of(id)) as usize + layout.slot_of(id) * record.len();
        image[start..start + record.len()].copy_from_slice(&record);
    }
    for block in 0..layout.blocks(rows as u64) as u32 {
        let start = layout.offset(BlockId(block)) as usize;
        seal_block(&mut image[start..start + layout.block_bytes()], BlockId(block));
    }
    let mem_graph = mem_graph(&vectors, (&codes, &codebook), judged);
    let medoid =
        (rows > 0).then(|| Codes::new(Matrix::from_rows(codes.row(0), codes.dim()), &codebook).unwrap());
    let codes = Codes::new(codes, &codebook).unwrap();
    let index = SearchIndex {
        layout,
        nodes: rows as u32,
        distance,
        estimates: match judged {
            Judged::Memory => Estimates::Memory { codebook, codes },
            Judged::Record => Estimates::Record { codebook, medoid },
            Judged::Off => Estimates::Off,
        },
        entry: EntryPoints { medoid: (rows > 0).then_some(0), mem_graph: (rows > 0).then_some(mem_graph) },
        cache: Cache::Empty,
        changes: None,
    };
    Small { vectors, queries, index: Arc::new(index), image: image.into() }
}

pub type Outcome = Result<Found, SearchError>;
pub type SimDriver<T> = Driver<SearchIndex<T>, SimDisk, VirtualClock, usize>;

impl<T: Element> Small<T> {
    pub fn driver(&self, slots: usize, disk: SimOptions) -> SimDriver<T> {
        let clock = VirtualClock::default();
        let layout = self.index.layout;
        let target = ReadTarget {
            file: Arc::from(Path::new("graph")),
            layout: layout.block_layout(),
            blocks: layout.blocks(u64::from(self.index.nodes)),
        };
        let disk = SimDisk::new(self.image.clone(), clock.clone(), disk);
        Driver::new(self.index.clone(), BlockReader::new(disk, target), clock, slots)
    }

    /// The same index without its navigation graph.
    pub fn without_mem_graph(mut self) -> Self {
        Arc::get_mut(&mut self.index).expect("nobody searches yet").entry.mem_graph = None;
        self
    }

    /// The same index with the first records held in memory.
    pub fn cached(mut self, records: u32) -> Self {
        let layout = self.index.layout;
        let mut held = Matrix::<u8>::zeroed(records as usize, layout.record_bytes());
        for node in 0..records {
            let start = layout.offset(layout.block_of(NodeId(node))) as usize;
            let block = &self.image[start..start + layout.block_bytes()];
            let record = record_bytes(&layout, block, layout.slot_of(NodeId(node)));
            held.row_mut(node as usize).copy_from_slice(record);
        }
        let index = Arc::get_mut(&mut self.index).expect("nobody searches yet");
        index.cache = Cache::Held(Records::new((0..records).collect(), held));
        self
    }

    /// Runs every query, `slots` at a time, and returns what came of each.
    pub fn run(&self, slots: usize, disk: SimOptions, k: usize, options: SearchOptions) -> Vec<Outcome> {
        let mut driver = self.driver(slots, disk);
        let mut outcomes: Vec<Option<Outcome>> = self.queries.iter().map(|_| None).collect();
        let mut next = 0;
        loop {
            while next < self.queries.len() && driver.has_room() {
                let query = Query { vector: &self.queries[next], k, options, cancel: None };
                driver.start(next, query).unwrap_or_else(|(_, error)| panic!("{error}"));
                next += 1;
            }
            let turn = driver.turn(&mut |job, outcome| assert!(outcomes[job].replace(outcome).is_none()));
            match turn {
                Turn::Busy => {}
                Turn::Waiting => driver.wait(Duration::from_millis(1)),
                Turn::Idle if next == self.queries.len() => break,
                Turn::Idle => {}
            }
        }
        outcomes.into_iter().map(|outcome| outcome.expect("every query is answered")).collect()
    }

    /// The exact k nearest of a query.
    pub fn exact(&self, query: &[T], k: usize) -> Vec<(u64, f32)> {
        let mut all: Vec<(u64, f32)> = (0..self.vectors.rows())
            .map(|row| (row as u64, self.index.distance.between(query, self.vectors.row(row))))
            .collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        all.truncate(k);
        all
    }

    /// Share of the true neighbours that were found; checks each answer's form on the way.
    pub fn recall(&self, outcomes: &[Outcome], k: usize) -> f64 {
        let mut found = 0;
        for (query, outcome) in self.queries.iter().zip(outcomes) {
            let nearest = &outcome.as_ref().unwrap().nearest;
            assert_eq!(nearest.len(), k.min(self.vectors.rows()), "min(k, n) results");
            assert!(nearest.windows(2).all(|w| (w[0].1, w[0].0) < (w[1].1, w[1].0)), "sorted and unique");
            for &(id, distance) in nearest {
                let exact = self.index.distance.between(query, self.vectors.row(id as usize));
                assert_eq!(distance.to_bits(), exact.to_bits(), "distances are exact");
            }
            let truth = self.exact(query, k);
            found += nearest.iter().filter(|(id, _)| truth.iter().any(|(other, _)| other == id)).count();
        }
        found as f64 / (self.queries.len() * k.min(self.vectors.rows())) as f64
    }

    /// Flips a bit inside a record without mending the checksum, or with it.
    pub fn damage(&mut self, node: u32, change: impl Fn(&mut [u8])) {
        let layout = self.index.layout;
        let mut image = self.image.to_vec();
        let block = layout.block_of(NodeId(node));
        let start = layout.offset(block) as usize;
        let bytes = &mut image[start..start + layout.block_bytes()];
        let length = record_bytes(&layout, bytes, 0).len();
        let at = layout.slot_of(NodeId(node)) * length;
        change(&mut bytes[at..at + length]);
        seal_block(bytes, block);
        self.image = image.into();
    }
}

//! A small index of postings on the simulated disk, and the brute force it is held against.

#![allow(dead_code)] // each test file uses its own part

use gleann_graph::{BuildDistance, BuildParams};
use gleann_search::{Driver, Found, Query, SearchError, SearchOptions, Turn};
use gleann_spann::{ClusterParams, Clusters, PostingIndex, cluster};
use gleann_storage::{
    BlockId, BlockReader, Layout, PostingLayout, ReadTarget, SimDisk, SimOptions, VirtualClock,
    encode_posting,
};
use gleann_vector::{Distance, Element, Matrix, Metric, Silent};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// An index, its disk image, and queries.
pub struct Small<T: Element> {
    pub vectors: Matrix<T>,
    pub queries: Vec<Vec<T>>,
    pub members: Vec<Vec<u32>>,
    pub index: Arc<PostingIndex<T>>,
    pub image: Arc<[u8]>,
}

/// Vectors of small integers around eight centres, which every element type holds exactly.
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

/// Parameters for postings of one page.
pub fn params(layout: &PostingLayout) -> ClusterParams {
    let capacity = layout.capacity().min(24);
    ClusterParams {
        capacity,
        cluster: (capacity / 4).max(1),
        replicas: 8,
        closure: 10.0,
        graph: BuildParams { degree: 12, list: 24, ..BuildParams::default() },
    }
}

pub fn layout<T: Element>(dim: usize, pages: usize) -> PostingLayout {
    PostingLayout::new(Layout::new(T::TYPE, dim, 12, 4096).unwrap(), pages).unwrap()
}

pub fn clusters<T: Element>(vectors: &Matrix<T>, metric: Metric, params: &ClusterParams) -> Clusters<T> {
    cluster(vectors, &BuildDistance::new(metric, vectors), params, &Silent).unwrap()
}

pub fn small<T: Element>(metric: Metric, rows: usize, dim: usize, pages: usize) -> Small<T> {
    let all = clustered::<T>(rows + 20, dim, 42);
    let queries = (rows..rows + 20).map(|row| all.row(row).to_vec()).collect();
    over(metric, Matrix::from_rows(&all.as_slice()[..rows * dim], dim), queries, pages)
}

/// An index over given vectors.
pub fn over<T: Element>(metric: Metric, vectors: Matrix<T>, queries: Vec<Vec<T>>, pages: usize) -> Small<T> {
    let layout = layout::<T>(vectors.dim(), pages);
    let Clusters { members, centroids, graph } = clusters(&vectors, metric, &params(&layout));
    let blocks = layout.blocks();
    let mut image = vec![0u8; blocks.file_bytes(members.len() as u64) as usize];
    for (id, members) in (0..).zip(&members) {
        let start = blocks.offset(BlockId(id)) as usize;
        let block = &mut image[start..start + blocks.block_bytes()];
        encode_posting(&layout, (BlockId(id), members), &vectors, block);
    }
    let distance = Distance::new(metric, vectors.dim());
    let index = PostingIndex { layout, nodes: vectors.rows() as u32, distance, centroids, graph };
    Small { vectors, queries, members, index: Arc::new(index), image: image.into() }
}

pub type Outcome = Result<Found, SearchError>;

impl<T: Element> Small<T> {
    pub fn driver(
        &self,
        slots: usize,
        disk: SimOptions,
    ) -> Driver<PostingIndex<T>, SimDisk, VirtualClock, usize> {
        let clock = VirtualClock::default();
        let target = ReadTarget {
            file: Arc::from(Path::new("postings")),
            layout: self.index.layout.blocks(),
            blocks: self.members.len() as u64,
        };
        let disk = SimDisk::new(self.image.clone(), clock.clone(), disk);
        Driver::new(self.index.clone(), BlockReader::new(disk, target), clock, slots)
    }

    /// Searches for every query, `slots` at a time.
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

    /// The exact k nearest of a query among `rows`.
    pub fn exact(&self, query: &[T], k: usize, rows: impl Iterator<Item = u32>) -> Vec<(u64, f32)> {
        let mut all: Vec<(u64, f32)> = rows
            .map(|row| (u64::from(row), self.index.distance.between(query, self.vectors.row(row as usize))))
            .collect();
        all.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        all.dedup();
        all.truncate(k);
        all
    }

    /// The postings by the distance of their centroids to a query, nearest first.
    pub fn ranked(&self, query: &[T]) -> Vec<(f32, usize)> {
        let mut all: Vec<(f32, usize)> = (0..self.members.len())
            .map(|posting| (self.index.distance.between(query, self.index.centroids.row(posting)), posting))
            .collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        all
    }
}

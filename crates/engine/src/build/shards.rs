//! The graph in shards: rows are dealt to the shards around them, and each shard gets a graph of its own.

use super::BuildError;
use super::lists::ListWriter;
use super::meter::{Meter, Spent, return_freed_memory};
use super::run::Run;
use super::threads::thread_pool;
use super::work::read_file;
use gleann_graph::{Assigner, Homes, partition_row};
use gleann_quant::{KMeansParams, kmeans, training_sample};
use gleann_storage::AtomicFile;
use gleann_vector::{Element, Matrix, Metric, Progress};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// The file of the shards of every row: two u32 each, the second `NO_HOME` where there is one only.
pub(crate) const HOMES: &str = "homes";
pub(crate) const NO_HOME: u32 = u32::MAX;
/// Lloyd rounds: shards need no fine centroids.
const ROUNDS: usize = 8;

/// Name of a file of shard `index`.
pub(crate) fn shard_file(index: usize, what: &str) -> String {
    format!("shard-{index:04}.{what}")
}

impl<T: Element> Run<'_, T> {
    /// Deals every row to its two nearest shards, and finds the entry point: the row nearest to the mean (of the
    /// normalised rows for cosine).
    pub(crate) fn partition(&mut self, shards: usize, capacity: u64) -> Result<(), BuildError> {
        self.remove_shards(shards)?;
        let centroids = self.centroids(shards)?;
        let mut assigner = Assigner::new(self.options.metric, centroids, capacity);
        let pool = thread_pool(self.plan.jobs.encode_threads)?;
        let dim = self.input.rows.dim();
        let mut homes_file = AtomicFile::create(&self.work.path(HOMES))?;
        let mut homes: Vec<Homes> = Vec::new();
        let mut middle = Middle::new(self.options.metric, self.mean()?);
        let mut gathered = Gathered::default();
        self.for_each_piece("partition", |first, piece| {
            homes.clear();
            pool.install(|| assigner.assign(piece, &mut homes));
            (first as u32..).zip(piece.chunks_exact(dim)).for_each(|(id, row)| middle.offer(id, row));
            let words: Vec<u32> =
                homes.iter().flat_map(|home| [home.first, home.second.unwrap_or(NO_HOME)]).collect();
            homes_file.write(bytemuck::cast_slice(&words))?;
            for shard in 0..shards {
                gathered.gather(shard as u32, first as u32, &homes, (piece, dim));
                append(&self.work.path(&shard_file(shard, "rows")), bytemuck::cast_slice(&gathered.rows))?;
                append(&self.work.path(&shard_file(shard, "ids")), bytemuck::cast_slice(&gathered.ids))?;
            }
            Ok(())
        })?;
        homes_file.commit()?;
        self.sync_shards(shards)?;
        self.work.state.entry = middle.nearest;
        self.work.state.shard_rows = assigner.sizes().to_vec();
        Ok(())
    }

    /// Removes what an interrupted dealing has left, since rows are appended.
    fn remove_shards(&self, shards: usize) -> Result<(), BuildError> {
        for shard in 0..shards {
            self.work.remove(&shard_file(shard, "rows"))?;
            self.work.remove(&shard_file(shard, "ids"))?;
        }
        Ok(())
    }

    fn sync_shards(&self, shards: usize) -> Result<(), BuildError> {
        for (shard, what) in (0..shards).flat_map(|shard| [(shard, "rows"), (shard, "ids")]) {
            let path = self.work.path(&shard_file(shard, what));
            let synced = File::open(&path).and_then(|file| file.sync_all());
            synced.map_err(BuildError::io("fsync of", &path))?;
        }
        Ok(())
    }

    /// The mean of all rows as shards see them.
    fn mean(&self) -> Result<Vec<f32>, BuildError> {
        let dim = self.input.rows.dim();
        let (mut sums, mut row) = (vec![0.0f64; dim], vec![0.0f32; dim]);
        self.for_each_piece("mean", |_, piece| {
            for given in piece.chunks_exact(dim) {
                partition_row(self.options.metric, given, &mut row);
                sums.iter_mut().zip(&row).for_each(|(sum, &x)| *sum += f64::from(x));
            }
            Ok(())
        })?;
        Ok(sums.into_iter().map(|sum| (sum / self.plan.rows.max(1) as f64) as f32).collect())
    }

    /// One centroid a shard, by k-means on a sample.
    fn centroids(&self, shards: usize) -> Result<Matrix<f32>, BuildError> {
        self.progress.phase("find shards", 0);
        let seed = self.options.seed ^ 0x5348_4152_4453;
        let rows = self.plan.jobs.partition_sample as usize;
        let mut sample = training_sample(&*self.input.rows, rows, seed)?;
        let dim = sample.dim();
        if self.options.metric == Metric::Cosine {
            for row in 0..sample.rows() {
                let given = sample.row(row).to_vec();
                partition_row(Metric::Cosine, &given, sample.row_mut(row));
            }
        }
        let params = KMeansParams { clusters: shards, rounds: ROUNDS, seed };
        let threads = self.plan.jobs.encode_threads;
        let found = thread_pool(threads)?.install(|| kmeans(sample.as_slice(), dim, params));
        // Fewer different rows than shards: equal centroids, so that there is room for every row.
        let mut centroids = Matrix::zeroed(shards, dim);
        for shard in 0..shards {
            centroids.row_mut(shard).copy_from_slice(found.row(shard % found.rows()));
        }
        Ok(centroids)
    }

    /// Builds the graphs of the shards that have none yet, one after the other.
    pub(crate) fn build_shards(&mut self) -> Result<(), BuildError> {
        let sizes = self.work.state.shard_rows.clone();
        for shard in self.work.state.shards_built..sizes.len() {
            let meter = Meter::start();
            self.build_shard(shard, sizes[shard] as usize, sizes.len())?;
            let spent = self.work.state.shards_spent.take();
            self.work.state.shards_spent = Some(add(spent, meter.stop()));
            self.work.state.shards_built = shard + 1;
            self.work.commit()?;
            self.work.remove(&shard_file(shard, "rows"))?;
            self.work.remove(&shard_file(shard, "ids"))?;
        }
        Ok(())
    }

    fn build_shard(&self, shard: usize, rows: usize, shards: usize) -> Result<(), BuildError> {
        self.expect_not_cancelled()?;
        let progress = InShard { inner: self.progress, prefix: format!("shard {}/{shards}: ", shard + 1) };
        let graph = {
            let mut vectors = Matrix::<T>::zeroed(rows, self.input.rows.dim());
            read_file(
                &self.work.path(&shard_file(shard, "rows")),
                bytemuck::cast_slice_mut(vectors.as_mut_slice()),
            )?;
            self.graph_of(&vectors, &progress)?
        };
        let mut ids = vec![0u32; rows];
        read_file(&self.work.path(&shard_file(shard, "ids")), bytemuck::cast_slice_mut(&mut ids))?;
        let mut writer = ListWriter::create(&self.work.path(&shard_file(shard, "lists")))?;
        for id in 0..rows as u32 {
            writer.push(graph.neighbours(id).iter().map(|&local| ids[local as usize]))?;
        }
        drop(graph);
        return_freed_memory();
        writer.finish()
    }
}

/// Finds the row nearest to the mean, the first of equally near ones.
struct Middle {
    metric: Metric,
    mean: Vec<f32>,
    row: Vec<f32>,
    distance: f32,
    nearest: Option<u32>,
}

impl Middle {
    fn new(metric: Metric, mean: Vec<f32>) -> Self {
        Self { metric, row: vec![0.0; mean.len()], mean, distance: f32::INFINITY, nearest: None }
    }

    fn offer<T: Element>(&mut self, id: u32, row: &[T]) {
        partition_row(self.metric, row, &mut self.row);
        let distance = self.row.iter().zip(&self.mean).map(|(x, mean)| (x - mean).powi(2)).sum::<f32>();
        if self.nearest.is_none() || distance.total_cmp(&self.distance).is_lt() {
            (self.distance, self.nearest) = (distance, Some(id));
        }
    }
}

/// The rows of one shard in a piece.
struct Gathered<T> {
    rows: Vec<T>,
    ids: Vec<u32>,
}

impl<T> Default for Gathered<T> {
    fn default() -> Self {
        Self { rows: Vec::new(), ids: Vec::new() }
    }
}

impl<T: Element> Gathered<T> {
    fn gather(&mut self, shard: u32, first: u32, homes: &[Homes], (piece, dim): (&[T], usize)) {
        self.rows.clear();
        self.ids.clear();
        for (index, home) in homes.iter().enumerate() {
            if home.first == shard || home.second == Some(shard) {
                self.ids.push(first + index as u32);
                self.rows.extend_from_slice(&piece[index * dim..(index + 1) * dim]);
            }
        }
    }
}

/// Progress of one shard: its phases carry its name.
struct InShard<'a> {
    inner: &'a dyn Progress,
    prefix: String,
}

impl Progress for InShard<'_> {
    fn phase(&self, name: &str, total: u64) {
        self.inner.phase(&format!("{}{name}", self.prefix), total);
    }

    fn advance(&self, done: u64) {
        self.inner.advance(done);
    }

    fn cancelled(&self) -> bool {
        self.inner.cancelled()
    }
}

fn append(path: &Path, bytes: &[u8]) -> Result<(), BuildError> {
    let file = OpenOptions::new().append(true).create(true).open(path);
    file.and_then(|mut file| file.write_all(bytes)).map_err(BuildError::io("writing", path))
}

fn add(before: Option<Spent>, now: Spent) -> Spent {
    let Some(before) = before else { return now };
    Spent {
        seconds: before.seconds + now.seconds,
        cpu_seconds: before.cpu_seconds + now.cpu_seconds,
        peak_rss_bytes: before.peak_rss_bytes.max(now.peak_rss_bytes),
    }
}

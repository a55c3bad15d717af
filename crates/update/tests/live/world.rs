//! A small live index on a simulated volume, and what is needed to ask it.

use gleann_graph::{BuildDistance, BuildParams};
use gleann_quant::{Codebook, CodebookParts, Codes, PqParams};
use gleann_search::{Driver, Expansion, MemGraph, Query, SearchIndex, SearchOptions, Turn};
use gleann_storage::{
    BlockId, BlockReader, BuildId, Clock, Layout, NewRecord, ReadTarget, VirtualClock, Volume, VolumeIo,
    encode_record, seal_block,
};
use gleann_update::{
    Adopted, Backend, Committed, Durability, InsertJob, LinkParams, Live, LiveOptions, LiveParts, Outcome,
    RepairPolicy, Rewrite, Runner, Threads, UpdateError, adopt,
};
use gleann_vector::{Element, ElementType, Matrix, Metric, Silent};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub const DIM: usize = 4;
pub const DEGREE: usize = 8;
pub const INDEX: BuildId = BuildId([7; 16]);

/// Geometry, codes and links of an index.
pub struct Shape {
    pub layout: Layout,
    pub codes: CodebookParts,
    pub link: LinkParams,
}

impl Shape {
    /// Codes of `chunks` bytes, trained on `rows`.
    pub fn new<const D: usize>(degree: usize, chunks: usize, rows: &[[f32; D]]) -> Self {
        let rows = Matrix::from_rows(rows.as_flattened(), D);
        let codebook = Codebook::train(&rows, PqParams::new(Metric::L2, chunks), &Silent).unwrap();
        let expansion = Expansion::Page { share_pct: 100 };
        Self {
            layout: Layout::new(ElementType::F32, D, degree, 4096).unwrap(),
            codes: codebook.to_parts(),
            link: LinkParams { degree, alpha: 1.2, candidates: 5 * degree, list: 30, expansion },
        }
    }

    /// The shape of the index that most tests are about.
    pub fn small() -> &'static Self {
        static SMALL: OnceLock<Shape> = OnceLock::new();
        SMALL.get_or_init(|| Self::new(DEGREE, 2, &(0..300).map(vector).collect::<Vec<_>>()))
    }

    pub fn codebook(&self) -> Codebook {
        Codebook::from_parts(self.codes.clone()).unwrap()
    }
}

/// A vector of few possible values, so that there are duplicates.
pub fn vector(seed: u64) -> [f32; DIM] {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::array::from_fn(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 20) as f32 % 23.0
    })
}

/// Writes the block file of a static index over `vectors` and makes it live.
pub fn create(volume: &Arc<dyn Volume>, backend: Backend, vectors: &[[f32; DIM]]) {
    create_shaped(volume, backend, Shape::small(), vectors);
}

/// Writes the block file of a static index of any shape, and makes it live.
pub fn create_shaped<const D: usize>(
    volume: &Arc<dyn Volume>,
    backend: Backend,
    shape: &Shape,
    vectors: &[[f32; D]],
) {
    write_static(volume, shape, vectors).adopt(volume, backend).unwrap();
}

/// A static index.
pub struct Static {
    codes: Codes,
    entry: Option<u32>,
    layout: Layout,
}

impl Static {
    pub fn adopt(&self, volume: &Arc<dyn Volume>, backend: Backend) -> Result<(), UpdateError> {
        let adopted = Adopted {
            volume: volume.clone(),
            index: INDEX,
            layout: self.layout,
            metric: Metric::L2,
            nodes: self.codes.len() as u32,
            entry: self.entry,
            codes: &self.codes,
            keys: None,
        };
        adopt::<f32>(&adopted, backend)
    }
}

pub fn write_static<const D: usize>(volume: &Arc<dyn Volume>, shape: &Shape, vectors: &[[f32; D]]) -> Static {
    let layout = shape.layout;
    let rows = vectors.len();
    let mut image = vec![0; layout.file_bytes(rows as u64) as usize];
    let matrix = if rows == 0 { Matrix::zeroed(0, D) } else { Matrix::from_rows(vectors.as_flattened(), D) };
    let params =
        BuildParams { degree: layout.degree(), list: 20.max(2 * layout.degree()), ..BuildParams::default() };
    let mut graph =
        gleann_graph::build(&matrix, &BuildDistance::new(Metric::L2, &matrix), &params, &Silent).unwrap();
    let entry = graph.entry();
    let Ok(_) = gleann_graph::repair(&mut graph, entry, |_, _, _| {});
    for (row, vector) in vectors.iter().enumerate() {
        let node = gleann_vector::NodeId(row as u32);
        let block = layout.block_of(node);
        let start = layout.offset(block) as usize + layout.slot_of(node) * layout.record_bytes();
        let record = NewRecord { vector, neighbours: graph.neighbours(row as u32), codes: &[] };
        encode_record(&layout, &record, &mut image[start..start + layout.record_bytes()]);
    }
    for block in 0..layout.blocks(rows as u64) as u32 {
        let start = layout.offset(BlockId(block)) as usize;
        seal_block(&mut image[start..start + layout.block_bytes()], BlockId(block));
    }
    let file = volume.create("graph.gln").unwrap();
    file.write_at(&image, 0).unwrap();
    file.sync().unwrap();
    volume.sync_dir().unwrap();
    let codebook = shape.codebook();
    let mut codes = Matrix::zeroed(rows, codebook.chunks());
    codebook.encode_rows(matrix.as_slice(), codes.as_mut_slice());
    Static { codes: Codes::new(codes, &codebook).unwrap(), entry: graph.entry(), layout }
}

pub fn options(durability: Durability) -> LiveOptions {
    LiveOptions {
        durability,
        link: Shape::small().link,
        overlay_bytes: 1 << 20,
        buffer_vectors: 40,
        portion_blocks: 2,
        repair: RepairPolicy::NEAREST,
        repair_bytes: 1 << 20,
        segment_bytes: 4096,
    }
}

pub fn open(volume: &Arc<dyn Volume>, durability: Durability) -> Result<Arc<Live<f32>>, UpdateError> {
    open_shaped(volume, Shape::small(), options(durability))
}

pub fn open_shaped(
    volume: &Arc<dyn Volume>,
    shape: &Shape,
    options: LiveOptions,
) -> Result<Arc<Live<f32>>, UpdateError> {
    open_navigated(volume, shape, options, None)
}

pub fn open_navigated(
    volume: &Arc<dyn Volume>,
    shape: &Shape,
    options: LiveOptions,
    mem_graph: Option<MemGraph<f32>>,
) -> Result<Arc<Live<f32>>, UpdateError> {
    let parts = LiveParts {
        volume: volume.clone(),
        index: INDEX,
        layout: shape.layout,
        metric: Metric::L2,
        codebook: shape.codebook(),
        mem_graph,
        before_switch: Box::new(|| ()),
        crew: Arc::new(Threads),
    };
    Live::open(parts, LiveOptions { link: shape.link, ..options }).map(Arc::new)
}

/// Inserts one vector and waits until it lasts.
pub fn insert<const D: usize>(
    live: &Arc<Live<f32>>,
    volume: &Arc<dyn Volume>,
    new: (u64, [f32; D], bool),
) -> Result<Outcome, UpdateError> {
    let committed = insert_unsettled(live, volume, new)?;
    live.settled(committed.lsn)?;
    Ok(committed.outcome)
}

/// Inserts one vector, which a crash may take away.
pub fn insert_unsettled<const D: usize>(
    live: &Arc<Live<f32>>,
    volume: &Arc<dyn Volume>,
    (key, vector, replace): (u64, [f32; D], bool),
) -> Result<Committed, UpdateError> {
    if live.is_buffered() {
        return live.put(key, &vector, replace);
    }
    let mut runner = Runner::new(live.clone(), disk(volume)?, VirtualClock::default(), 1);
    let mut result = None;
    runner
        .start(InsertJob { key, vector: vector.to_vec(), replace, job: () })
        .map_err(|((), error)| error)?;
    while result.is_none() {
        if runner.turn(&mut |(), inserted| result = Some(inserted)) == Turn::Waiting {
            runner.wait(Duration::from_millis(1));
        }
    }
    result.expect("it has ended")
}

/// Reads of the block file.
pub fn disk(volume: &Arc<dyn Volume>) -> Result<VolumeIo, UpdateError> {
    match volume.open("graph.gln") {
        Ok(Some(file)) => Ok(VolumeIo::new(file, 128)),
        other => {
            let found = format!("cannot be opened: {:?}", other.err());
            Err(UpdateError::Damaged { path: volume.path("graph.gln"), found })
        }
    }
}

/// A clock that stands still, and that threads can share.
#[derive(Clone)]
struct NoTime;

impl Clock for NoTime {
    fn now_ns(&self) -> u64 {
        0
    }
}

/// Takes what was deleted out of the graph; what is buffered goes into it.
pub fn repair(live: &Arc<Live<f32>>, volume: &Arc<dyn Volume>) -> Result<(), UpdateError> {
    if live.is_buffered() || live.has_buffers() {
        let volume = volume.clone();
        let open = move || disk(&volume).map_err(|error| std::io::Error::other(error.to_string()));
        live.merge(&open, &NoTime)
    } else {
        live.checkpoint(Rewrite::Repaired)
    }
}

/// The k nearest keys of a query.
pub fn search<const D: usize>(
    index: &Arc<SearchIndex<f32>>,
    volume: &Arc<dyn Volume>,
    (query, k, list): (&[f32; D], usize, usize),
    expansion: Expansion,
) -> Vec<(u64, f32)> {
    let mut driver: Driver<_, _, _, ()> = driver(index.clone(), volume, VirtualClock::default(), 1);
    let options = SearchOptions { list, expansion, ..SearchOptions::default() };
    driver.start((), Query { vector: query, k, options, cancel: None }).unwrap();
    let mut found = None;
    while found.is_none() {
        if driver.turn(&mut |(), outcome| found = Some(outcome)) == Turn::Waiting {
            driver.wait(Duration::from_millis(1));
        }
    }
    found.expect("it has ended").unwrap().nearest
}

pub fn driver<T: Element, C: Clock, J>(
    index: Arc<SearchIndex<T>>,
    volume: &Arc<dyn Volume>,
    clock: C,
    slots: usize,
) -> Driver<SearchIndex<T>, VolumeIo, C, J> {
    let target = ReadTarget {
        file: Path::new("graph.gln").into(),
        layout: index.layout.block_layout(),
        blocks: u64::MAX,
    };
    Driver::new(index, BlockReader::new(disk(volume).unwrap(), target), clock, slots)
}

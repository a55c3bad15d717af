//! A small live index on a simulated volume, and what is needed to ask it.

use gleann_graph::{BuildDistance, BuildParams};
use gleann_quant::{Codebook, Codes, PqParams};
use gleann_search::{
    Driver, Entry, Expansion, Query, SearchIndex, SearchKind, SearchOptions, Stop, Turn, Width,
};
use gleann_storage::{
    BlockId, BlockReader, BuildId, Clock, Layout, NewRecord, ReadTarget, VirtualClock, Volume, VolumeIo,
    encode_record, seal_block,
};
use gleann_update::{
    Adopted, Backend, Durability, InsertJob, LinkParams, Live, LiveOptions, LiveParts, Outcome, Runner,
    UpdateError, adopt,
};
use gleann_vector::{Element, ElementType, Matrix, Metric, Silent};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub const DIM: usize = 4;
pub const DEGREE: usize = 8;
pub const INDEX: BuildId = BuildId([7; 16]);

pub fn layout() -> Layout {
    Layout::new(ElementType::F32, DIM, DEGREE, 4096).unwrap()
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

pub fn codebook() -> Codebook {
    let rows: Vec<f32> = (0..300).flat_map(vector).collect();
    Codebook::train(&Matrix::from_rows(&rows, DIM), PqParams::new(Metric::L2, 2), &Silent).unwrap()
}

/// Writes the block file of a static index over `vectors` and makes it live.
pub fn create(volume: &Arc<dyn Volume>, backend: Backend, vectors: &[[f32; DIM]]) {
    let layout = layout();
    let rows = vectors.len();
    let mut image = vec![0; layout.file_bytes(rows as u64) as usize];
    let matrix =
        if rows == 0 { Matrix::zeroed(0, DIM) } else { Matrix::from_rows(vectors.as_flattened(), DIM) };
    let params = BuildParams { degree: DEGREE, list: 20, ..BuildParams::default() };
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
    let codebook = codebook();
    let mut codes = Matrix::zeroed(rows, codebook.chunks());
    codebook.encode_rows(matrix.as_slice(), codes.as_mut_slice());
    let codes = Codes::new(codes, &codebook).unwrap();
    let adopted = Adopted {
        volume: volume.clone(),
        index: INDEX,
        layout,
        metric: Metric::L2,
        nodes: rows as u32,
        entry: graph.entry(),
        codes: &codes,
        keys: None,
    };
    adopt::<f32>(&adopted, backend).unwrap();
}

pub fn options(durability: Durability) -> LiveOptions {
    LiveOptions {
        durability,
        link: LinkParams { degree: DEGREE, alpha: 1.2, candidates: 40, list: 30, expansion: Expansion::Page { share_pct: 100 } },
        overlay_bytes: 1 << 20,
        buffer_vectors: 40,
        segment_bytes: 4096,
    }
}

pub fn open(volume: &Arc<dyn Volume>, durability: Durability) -> Result<Arc<Live<f32>>, UpdateError> {
    let parts = LiveParts {
        volume: volume.clone(),
        index: INDEX,
        layout: layout(),
        metric: Metric::L2,
        codebook: codebook(),
        mem_graph: None,
    };
    Live::open(parts, options(durability)).map(Arc::new)
}

/// Inserts one vector and waits until it lasts.
pub fn insert(
    live: &Arc<Live<f32>>,
    volume: &Arc<dyn Volume>,
    (key, vector, replace): (u64, [f32; DIM], bool),
) -> Result<Outcome, UpdateError> {
    let file = volume.open("graph.gln").ok().flatten();
    let Some(file) = file else {
        return Err(UpdateError::Damaged { path: volume.path("graph.gln"), found: "gone".into() });
    };
    let mut runner = Runner::new(live.clone(), VolumeIo::new(file, 128), VirtualClock::default(), 1);
    let mut result = None;
    runner
        .start(InsertJob { key, vector: vector.to_vec(), replace, job: () })
        .map_err(|((), error)| error)?;
    while result.is_none() {
        if runner.turn(&mut |(), inserted| result = Some(inserted)) == Turn::Waiting {
            runner.wait(Duration::from_millis(1));
        }
    }
    let committed = result.expect("it has ended")?;
    live.settled(committed.lsn)?;
    Ok(committed.outcome)
}

/// The k nearest keys of a query.
pub fn search(
    index: &Arc<SearchIndex<f32>>,
    volume: &Arc<dyn Volume>,
    (query, k, list): (&[f32; DIM], usize, usize),
    expansion: Expansion,
) -> Vec<(u64, f32)> {
    let mut driver = driver(index.clone(), volume, VirtualClock::default());
    let options = SearchOptions {
        list,
        kind: SearchKind::Beam,
        width: Width::Fixed(4),
        entry: Entry::Medoid,
        expansion,
        stop: Stop::Exhausted,
        deadline: None,
    };
    driver.start((), Query { vector: query, k, options, cancel: None }).unwrap();
    let mut found = None;
    while found.is_none() {
        if driver.turn(&mut |(), outcome| found = Some(outcome)) == Turn::Waiting {
            driver.wait(Duration::from_millis(1));
        }
    }
    found.expect("it has ended").unwrap().nearest
}

fn driver<T: Element, C: Clock>(
    index: Arc<SearchIndex<T>>,
    volume: &Arc<dyn Volume>,
    clock: C,
) -> Driver<SearchIndex<T>, VolumeIo, C, ()> {
    let file = volume.open("graph.gln").unwrap().unwrap();
    let target = ReadTarget {
        file: Path::new("graph.gln").into(),
        layout: index.layout.block_layout(),
        blocks: u64::MAX,
    };
    Driver::new(index, BlockReader::new(VolumeIo::new(file, 128), target), clock, 1)
}

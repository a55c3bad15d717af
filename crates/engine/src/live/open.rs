//! Opening a live index: its last state, the cores that search it, the workers that update it.

use crate::error::OpenError;
use crate::live::block_cache::BlockCache;
use crate::live::disks::Disks;
use crate::live::options::UpdateOptions;
use crate::live::stats::UpdateCpu;
use crate::live::updates::Updates;
use crate::live::worker::{Keeper, WorkerSeed, start_worker};
use crate::load::load_codebook;
use crate::mem_graph::load_mem_graph;
use crate::options::OpenOptions;
use gleann_search::Expansion;
use gleann_storage::{IndexDirectory, OsVolume, Packing, StorageError};
use gleann_update::{LinkParams, Live, LiveOptions, LiveParts, REPAIR_BYTES, SEGMENT_BYTES, Threads};
use gleann_vector::Element;
use parking_lot::Mutex;
use std::fs::File;
use std::sync::Arc;

/// Inserts that may wait for a worker, for each that one runs.
const QUEUED: usize = 4;

/// A live index on its way to its cores.
pub(crate) struct LiveOpening<T: Element> {
    pub(crate) live: Arc<Live<T>>,
    options: UpdateOptions,
    cache: Arc<BlockCache>,
}

/// Brings a live index back to its last state.
pub(crate) fn open_live<T: Element>(
    directory: &IndexDirectory,
    options: &OpenOptions,
) -> Result<LiveOpening<T>, OpenError> {
    let manifest = directory.manifest();
    let codebook = load_codebook(directory)?;
    let mem_graph = if options.mem_graph { load_mem_graph(directory, Some(&codebook))? } else { None };
    let volume = OsVolume::open(directory.path()).map_err(|source| StorageError::Io {
        action: "opening",
        path: directory.path().to_owned(),
        source,
    })?;
    let updates = options.updates;
    let cache = Arc::new(BlockCache::new(updates.cache, manifest.layout.block_bytes()));
    let emptied = cache.clone();
    let parts = LiveParts {
        volume: Arc::new(volume),
        index: manifest.build_id,
        layout: manifest.layout,
        metric: manifest.metric,
        codebook,
        mem_graph,
        before_switch: Box::new(move || emptied.clear()),
        crew: Arc::new(Threads),
    };
    let link = LinkParams {
        degree: manifest.layout.degree(),
        alpha: manifest.parameters.alpha,
        candidates: updates.candidates.max(1),
        list: updates.list.max(1),
        expansion: match manifest.packing {
            Packing::ById => Expansion::Record,
            Packing::PageShuffle => Expansion::Page { share_pct: 100 },
        },
    };
    let live_options = LiveOptions {
        durability: updates.durability,
        link,
        overlay_bytes: updates.memory,
        buffer_vectors: updates.buffer_vectors.max(1),
        portion_blocks: 0,
        repair: updates.repair,
        repair_bytes: REPAIR_BYTES,
        segment_bytes: SEGMENT_BYTES,
    };
    let live = Live::open(parts, live_options)?;
    // A codebook trained on nothing tells no vector from another.
    let live = if manifest.nodes == 0 { live.unbuilt() } else { live };
    Ok(LiveOpening { live: Arc::new(live), options: updates, cache })
}

impl<T: Element> LiveOpening<T> {
    /// Starts the workers, which read `file`.
    pub(crate) fn start(self, file: &File) -> Result<Updates<T>, OpenError> {
        let Self { live, options, cache } = self;
        let failed = |cause: String| OpenError::Workers { cause };
        let count = options.threads.max(1);
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(count)
            .thread_name(|number| format!("gleann-rewrite-{number}"))
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let disks = file.try_clone().and_then(|file| Disks::new(file, cache));
        let disks = disks.map_err(|error| failed(error.to_string()))?;
        let disks = Arc::new(disks);
        let cpu = Arc::new(UpdateCpu::new(2 * count));
        let keeper = Keeper {
            live: live.clone(),
            disks: disks.clone(),
            threads,
            consolidate_share: options.consolidate_share,
            cpu: cpu.clone(),
            workers: count,
            failure: Mutex::default(),
        };
        let keeper = Arc::new(keeper);
        let (jobs, intake) = flume::bounded(count * options.in_flight.max(1) * QUEUED);
        let (nudge, nudges) = flume::bounded(1);
        let mut updates = Updates {
            live: live.clone(),
            jobs: Some(jobs),
            nudge: Some(nudge.clone()),
            keeper: Some(keeper.clone()),
            joins: Vec::new(),
            cpu: cpu.clone(),
        };
        for number in 0..count {
            let seed = WorkerSeed {
                live: live.clone(),
                disks: disks.clone(),
                jobs: intake.clone(),
                nudge: nudge.clone(),
                in_flight: options.in_flight.max(1),
                cpu: cpu.clone(),
            };
            updates.joins.push(start_worker(number, seed).map_err(|error| failed(error.to_string()))?);
        }
        updates.joins.push(keeper.start(nudges).map_err(|error| failed(error.to_string()))?);
        Ok(updates)
    }
}

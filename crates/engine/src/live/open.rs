//! Opening a live index: its last state, the cores that search it, the workers that update it.

use crate::cache::CachePolicy;
use crate::error::OpenError;
use crate::executor::{SpareWork, StallOptions};
use crate::live::block_cache::BlockCache;
use crate::live::board::{Board, CoresAndThreads};
use crate::live::disks::Disks;
use crate::live::options::UpdateOptions;
use crate::live::spare::{SpareSeed, SpareTime};
use crate::live::stats::UpdateCpu;
use crate::live::updates::Updates;
use crate::live::worker::{Job, Keeper, WorkerSeed, start_worker};
use crate::load::load_codebook;
use crate::mem_graph::load_mem_graph;
use crate::options::OpenOptions;
use gleann_lios::{Lios, LiosOptions, Queue, TunerOptions, Utilisation};
use gleann_search::{Expansion, Records};
use gleann_storage::{IndexDirectory, OsVolume, Packing, StorageError};
use gleann_update::{Crew, LinkParams, Live, LiveOptions, LiveParts, REPAIR_BYTES, SEGMENT_BYTES, Threads};
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
    board: Arc<Board>,
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
    let board = Arc::new(Board::default());
    let crew: Arc<dyn Crew> = match updates.lios {
        Some(_) => Arc::new(CoresAndThreads { board: board.clone(), threads: updates.threads > 0 }),
        None => Arc::new(Threads),
    };
    let parts = LiveParts {
        volume: Arc::new(volume),
        index: manifest.build_id,
        layout: manifest.layout,
        metric: manifest.metric,
        codebook,
        mem_graph,
        before_switch: Box::new(move || emptied.clear()),
        crew,
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
    let live = match options.cache {
        CachePolicy::Sssp(size) => {
            let bytes_each = manifest.layout.record_bytes() as u64 + Records::BESIDE;
            let most = size.records(manifest.nodes.max(live.len() as u32), bytes_each);
            live.hold(most as usize)?
        }
        CachePolicy::None | CachePolicy::Hot { .. } => live,
    };
    // A codebook trained on nothing tells no vector from another.
    let live = if manifest.nodes == 0 { live.unbuilt() } else { live };
    Ok(LiveOpening { live: Arc::new(live), options: updates, cache, board })
}

/// What the updates of a live index run on, before they do.
pub(crate) struct Prepared<T: Element> {
    live: Arc<Live<T>>,
    options: UpdateOptions,
    disks: Arc<Disks>,
    board: Arc<Board>,
    jobs: Arc<Queue<Job<T>>>,
    nudge: (flume::Sender<()>, flume::Receiver<()>),
    lios: Option<Arc<Lios>>,
}

impl<T: Element> LiveOpening<T> {
    /// Makes ready what the updates run on, which read `file`.
    pub(crate) fn prepare(self, file: &File) -> Result<Prepared<T>, OpenError> {
        let Self { live, options, cache, board } = self;
        let lios = options
            .lios
            .as_ref()
            .map(|lios| Lios::new(with_others(lios, options.threads)))
            .transpose()
            .map_err(|error| failed(&error))?;
        if lios.is_none() && options.threads == 0 {
            return Err(failed(
                &"no thread updates, and the searching cores do not either: give one, or turn LIOS on",
            ));
        }
        let disks = file.try_clone().and_then(|file| Disks::new(file, cache));
        let disks = Arc::new(disks.map_err(|error| failed(&error))?);
        let jobs = Arc::new(Queue::new(options.threads.max(1) * options.in_flight.max(1) * QUEUED));
        Ok(Prepared { live, options, disks, board, jobs, nudge: flume::bounded(1), lios: lios.map(Arc::new) })
    }
}

impl<T: Element> Prepared<T> {
    /// What searching cores are to do in their stalls.
    pub(crate) fn stalls(&self) -> Option<StallOptions> {
        let seed = SpareSeed {
            live: self.live.clone(),
            disks: self.disks.clone(),
            jobs: self.jobs.clone(),
            nudge: self.nudge.0.downgrade(),
            board: self.board.clone(),
            in_flight: self.options.in_flight,
        };
        let seed = Arc::new(seed);
        let spare = move || Ok(Box::new(SpareTime::new(seed.clone())?) as Box<dyn SpareWork>);
        let lios = self.lios.clone()?;
        Some(StallOptions { lios, spare: Arc::new(spare), prefetch: self.options.prefetch })
    }

    /// Starts the workers. `waker` wakes searching cores that have nothing to search for.
    pub(crate) fn start(self, waker: impl Fn() + Send + Sync + 'static) -> Result<Updates<T>, OpenError> {
        let Self { live, options, disks, board, jobs, nudge: (nudge, nudges), lios } = self;
        if lios.is_some() {
            board.set_waker(Box::new(waker));
        }
        let count = options.threads;
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(count.max(1))
            .thread_name(|number| format!("gleann-rewrite-{number}"))
            .build()
            .map_err(|error| failed(&error))?;
        let cpu = Arc::new(UpdateCpu::new(count + count.max(1)));
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
        let mut updates = Updates {
            live: live.clone(),
            jobs: jobs.clone(),
            nudge: Some(nudge.clone()),
            keeper: Some(keeper.clone()),
            joins: Vec::new(),
            cpu: cpu.clone(),
            board,
            lios,
        };
        for number in 0..count {
            let seed = WorkerSeed {
                live: live.clone(),
                disks: disks.clone(),
                jobs: jobs.clone(),
                nudge: nudge.clone(),
                in_flight: options.in_flight.max(1),
                cpu: cpu.clone(),
            };
            updates.joins.push(start_worker(number, seed).map_err(|error| failed(&error))?);
        }
        updates.joins.push(keeper.start(nudges).map_err(|error| failed(&error))?);
        Ok(updates)
    }
}

/// The options, which know whether updates have threads of their own as well.
fn with_others(lios: &LiosOptions, threads: usize) -> LiosOptions {
    let utilisation = match lios.utilisation {
        Utilisation::Tuned(tuner) => Utilisation::Tuned(TunerOptions { alone: threads == 0, ..tuner }),
        fixed @ Utilisation::Fixed(_) => fixed,
    };
    LiosOptions { utilisation, ..*lios }
}

fn failed(cause: &dyn std::fmt::Display) -> OpenError {
    OpenError::Workers { cause: cause.to_string() }
}

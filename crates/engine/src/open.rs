//! Opening an index: load what searches share, choose the disk, start the cores.

use crate::build::CodePlacement;
use crate::cache::{CachePolicy, load_cache};
use crate::error::OpenError;
use crate::executor::{Executors, HostOptions, StallOptions, allowed_cpus};
use crate::info::{IndexInfo, MemGraphInfo};
use crate::io::{Direct, OpenedFile, map_file, open_for_reads};
use crate::keys::Keys;
use crate::live::{Updates, open_live};
use crate::load::{load_graph, load_postings};
use crate::options::{EngineChoice, MAX_IN_FLIGHT, MAX_THREADS, OpenOptions};
use gleann_search::{Nearest, Searched};
use gleann_storage::{IndexDirectory, IndexKind, MemberKind, ReadTarget};
use gleann_vector::Element;
use std::path::Path;
use std::sync::Arc;

/// The running parts of an open index.
pub(crate) struct Opened<T: Element> {
    pub(crate) executors: Executors<T>,
    pub(crate) info: IndexInfo,
    /// What takes updates, if the index is live.
    pub(crate) updates: Option<Updates<T>>,
}

/// Opens the index in `directory`, whose elements are of type `T`.
pub(crate) fn open<T: Element>(
    directory: &IndexDirectory,
    options: &OpenOptions,
) -> Result<Opened<T>, OpenError> {
    if options.threads > MAX_THREADS || !(1..=MAX_IN_FLIGHT).contains(&options.in_flight) {
        return Err(OpenError::Options { threads: options.threads, in_flight: options.in_flight });
    }
    if IndexDirectory::is_live(directory.path()) {
        return open_updated(directory, options);
    }
    match directory.manifest().kind {
        IndexKind::Graph => {
            let graph = directory.graph()?;
            let index =
                Arc::new(load_cache(load_graph::<T>(directory, &graph, options)?, &graph, &options.cache)?);
            let target = graph.target();
            let navigation = index.entry.mem_graph.as_ref();
            let mem_graph = navigation.map(|graph| MemGraphInfo {
                nodes: graph.nodes().len() as u64,
                bytes: graph.memory_bytes() as u64,
            });
            let held = (index.estimates.memory_bytes() + index.cache.memory_bytes()) as u64;
            let memory = Held {
                nodes: None,
                cached_records: index.cache.held() as u64,
                mem_graph,
                bytes: held + mem_graph.map_or(0, |graph| graph.bytes),
            };
            Opening { directory, options, target, memory, stalls: None }.start(&index)
        }
        IndexKind::Postings { .. } => {
            if options.cache != CachePolicy::None {
                return Err(OpenError::CacheOfPostings(directory.path().to_owned()));
            }
            let (index, target) = load_postings::<T>(directory)?;
            let memory = Held { bytes: index.memory_bytes() as u64, ..Held::default() };
            Opening { directory, options, target, memory, stalls: None }.start(&index)
        }
    }
}

fn open_updated<T: Element>(
    directory: &IndexDirectory,
    options: &OpenOptions,
) -> Result<Opened<T>, OpenError> {
    let not = |found: &str| OpenError::NotLive { path: directory.path().to_owned(), found: found.to_owned() };
    if options.engine == EngineChoice::Mmap {
        return Err(not(
            "a live index cannot be read through a memory map; use the engine auto, glommio or pool",
        ));
    }
    if matches!(options.cache, CachePolicy::Hot { .. }) {
        return Err(not(
            "a live index holds records by their distance from the entry point only; open it with sssp:SIZE",
        ));
    }
    let opening = open_live::<T>(directory, options)?;
    let (index, layout) = (opening.live.index().clone(), directory.manifest().layout.block_layout());
    let file: Arc<Path> = directory.path().join(MemberKind::Graph.file_name()).into();
    let target = ReadTarget { file, layout, blocks: u64::MAX };
    let figures = opening.live.figures();
    let mem_graph = index
        .entry
        .mem_graph
        .as_ref()
        .map(|graph| MemGraphInfo { nodes: graph.nodes().len() as u64, bytes: graph.memory_bytes() as u64 });
    let bytes = figures.memory_bytes
        + index.estimates.memory_bytes() as u64
        + mem_graph.map_or(0, |graph| graph.bytes);
    let bytes = bytes + index.cache.memory_bytes() as u64;
    let cached_records = index.cache.held() as u64;
    let memory = Held { nodes: Some(figures.live), mem_graph, bytes, cached_records };
    let reads = open_for_reads(&target.file, options.direct).map_err(|source| OpenError::Graph {
        path: target.file.to_path_buf(),
        direct: options.direct,
        source,
    })?;
    let prepared = opening.prepare(&reads.file)?;
    let stalls = prepared.stalls();
    let opened = Opening { directory, options, target, memory, stalls }.start(&index)?;
    let updates = prepared.start(opened.executors.waker())?;
    Ok(Opened { updates: Some(updates), ..opened })
}

/// An index on its way to its cores.
struct Opening<'a> {
    directory: &'a IndexDirectory,
    options: &'a OpenOptions,
    target: ReadTarget,
    memory: Held,
    /// How cores use the stalls of their searches.
    stalls: Option<StallOptions>,
}

/// What its searches share in memory, beside the keys.
#[derive(Default)]
struct Held {
    /// Vectors, where the manifest does not know.
    nodes: Option<u64>,
    cached_records: u64,
    mem_graph: Option<MemGraphInfo>,
    bytes: u64,
}

impl Opening<'_> {
    fn start<X: Searched<Found = Nearest>>(self, index: &Arc<X>) -> Result<Opened<X::Element>, OpenError> {
        let Self { directory, options, target, memory, stalls } = self;
        let (manifest, file) = (directory.manifest(), target.file.clone());
        // The searches of a live index find keys.
        let listed = if memory.nodes.is_some() { None } else { directory.keys()? };
        let keys = Arc::new(listed.map_or(Keys::Identity, Keys::Listed));
        let direct = if options.engine == EngineChoice::Mmap { Direct::Off } else { options.direct };
        let opened = open_for_reads(&file, direct).map_err(|source| OpenError::Graph {
            path: file.to_path_buf(),
            direct,
            source,
        })?;
        let host = HostOptions {
            cpus: choose_cpus(options.threads),
            pin: options.pin,
            in_flight: options.in_flight,
            spin: options.spin,
            target,
            metric: manifest.metric,
            keys: keys.clone(),
            stalls,
        };
        let mut warnings: Vec<String> = opened.warning.iter().cloned().collect();
        let (executors, engine) = start(index, &opened, &host, options.engine, &mut warnings)?;
        for warning in &warnings {
            log::warn!("{warning}");
        }
        let info = IndexInfo {
            path: directory.path().to_owned(),
            nodes: memory.nodes.unwrap_or(u64::from(manifest.nodes)),
            kind: manifest.kind,
            layout: manifest.layout,
            metric: manifest.metric,
            packing: manifest.packing,
            codes: CodePlacement::of(manifest),
            code_bytes: manifest.codes.bytes_per_node(),
            parameters: manifest.parameters.clone(),
            build_id: manifest.build_id.to_string(),
            engine,
            direct: opened.direct,
            file_system: opened.medium.file_system,
            threads: host.cpus.len(),
            in_flight: host.in_flight,
            cached_records: memory.cached_records,
            mem_graph: memory.mem_graph,
            memory_bytes: memory.bytes + keys.bytes(),
            warnings,
        };
        Ok(Opened { executors, info, updates: None })
    }
}

fn start<X: Searched<Found = Nearest>>(
    index: &Arc<X>,
    opened: &OpenedFile,
    host: &HostOptions,
    wanted: EngineChoice,
    warnings: &mut Vec<String>,
) -> Result<(Executors<X::Element>, EngineChoice), OpenError> {
    let failed = |engine, cause: String| OpenError::Engine { engine, cause };
    if matches!(wanted, EngineChoice::Auto | EngineChoice::Glommio) {
        match Executors::start_glommio(index, &opened.file, host) {
            Ok(executors) => return Ok((executors, EngineChoice::Glommio)),
            Err(cause) if wanted == EngineChoice::Glommio => return Err(failed(wanted, cause.to_string())),
            Err(cause) => warnings.push(format!(
                "{cause}: reading with a pool of blocking threads, which is slower; allow io_uring (container \
                 seccomp profile, sysctl kernel.io_uring_disabled, ulimit -l and -n) to use glommio"
            )),
        }
    }
    if wanted == EngineChoice::Mmap {
        let map = map_file(&opened.file).map_err(|error| failed(wanted, error.to_string()))?;
        let executors = Executors::start_mapped(index, &Arc::new(map), host)
            .map_err(|cause| failed(wanted, cause.to_string()))?;
        return Ok((executors, wanted));
    }
    let file = opened.file.try_clone().map_err(|error| failed(EngineChoice::Pool, error.to_string()))?;
    let executors = Executors::start_pool(index, &Arc::new(file), host)
        .map_err(|cause| failed(EngineChoice::Pool, cause.to_string()))?;
    Ok((executors, EngineChoice::Pool))
}

/// The processor of each executor: one each of those allowed, or as many as asked for, in turn.
fn choose_cpus(threads: usize) -> Vec<usize> {
    let allowed = allowed_cpus();
    let count = if threads == 0 { allowed.len() } else { threads };
    (0..count).map(|number| allowed[number % allowed.len()]).collect()
}

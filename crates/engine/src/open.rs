//! Opening an index: load what searches share, choose the disk, start the cores.

use crate::build::CodePlacement;
use crate::cache::{CachePolicy, load_cache};
use crate::error::OpenError;
use crate::executor::{Executors, HostOptions, allowed_cpus};
use crate::info::{IndexInfo, MemGraphInfo};
use crate::io::{Direct, OpenedFile, map_file, open_for_reads};
use crate::keys::Keys;
use crate::mem_graph::load_mem_graph;
use crate::node_vectors::NodeVectors;
use crate::options::{EngineChoice, MAX_IN_FLIGHT, MAX_THREADS, OpenOptions};
use gleann_graph::Graph;
use gleann_quant::{Codebook, Codes};
use gleann_search::{Cache, EntryPoints, Estimates, SearchIndex, Searched};
use gleann_spann::PostingIndex;
use gleann_storage::{CodeFormat, IndexDirectory, IndexKind, MemberKind, ReadTarget, StorageError};
use gleann_vector::{Distance, Element, Matrix};
use std::sync::Arc;

/// The running parts of an open index.
pub(crate) struct Opened<T: Element> {
    pub(crate) executors: Executors<T>,
    pub(crate) info: IndexInfo,
}

/// Opens the index in `directory`, whose elements are of type `T`.
pub(crate) fn open<T: Element>(
    directory: &IndexDirectory,
    options: &OpenOptions,
) -> Result<Opened<T>, OpenError> {
    if options.threads > MAX_THREADS || !(1..=MAX_IN_FLIGHT).contains(&options.in_flight) {
        return Err(OpenError::Options { threads: options.threads, in_flight: options.in_flight });
    }
    match directory.manifest().kind {
        IndexKind::Graph => {
            let graph = directory.graph()?;
            let index = Arc::new(load_cache(load::<T>(directory, options)?, &graph, &options.cache)?);
            let target = ReadTarget {
                file: Arc::from(graph.path()),
                layout: graph.layout().block_layout(),
                blocks: u64::from(graph.blocks()),
            };
            let navigation = index.entry.mem_graph.as_ref();
            let mem_graph = navigation.map(|graph| MemGraphInfo {
                nodes: graph.nodes().len() as u64,
                bytes: graph.memory_bytes() as u64,
            });
            let held = (index.estimates.memory_bytes() + index.cache.memory_bytes()) as u64;
            let memory = Held {
                cached_records: index.cache.held() as u64,
                mem_graph,
                bytes: held + mem_graph.map_or(0, |graph| graph.bytes),
            };
            Opening { directory, options, target, memory }.start(&index)
        }
        IndexKind::Postings { .. } => {
            if options.cache != CachePolicy::None {
                return Err(OpenError::CacheOfPostings(options.cache.to_string()));
            }
            let (index, target) = load_postings::<T>(directory)?;
            let memory = Held { bytes: index.memory_bytes() as u64, ..Held::default() };
            Opening { directory, options, target, memory }.start(&index)
        }
    }
}

/// An index on its way to its cores.
struct Opening<'a> {
    directory: &'a IndexDirectory,
    options: &'a OpenOptions,
    target: ReadTarget,
    memory: Held,
}

/// What its searches share in memory, beside the keys.
#[derive(Default)]
struct Held {
    cached_records: u64,
    mem_graph: Option<MemGraphInfo>,
    bytes: u64,
}

impl Opening<'_> {
    fn start<X: Searched>(self, index: &Arc<X>) -> Result<Opened<X::Element>, OpenError> {
        let Self { directory, options, target, memory } = self;
        let (manifest, file) = (directory.manifest(), target.file.clone());
        let keys = Arc::new(directory.keys()?.map_or(Keys::Identity, Keys::Listed));
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
        };
        let mut warnings: Vec<String> = opened.warning.iter().cloned().collect();
        let (executors, engine) = start(index, &opened, &host, options.engine, &mut warnings)?;
        for warning in &warnings {
            log::warn!("{warning}");
        }
        let info = IndexInfo {
            nodes: u64::from(manifest.nodes),
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
        Ok(Opened { executors, info })
    }
}

/// Loads what probes share.
fn load_postings<T: Element>(
    directory: &IndexDirectory,
) -> Result<(Arc<PostingIndex<T>>, ReadTarget), OpenError> {
    let manifest = directory.manifest();
    let file = directory.postings()?;
    let layout = *file.layout();
    let target = ReadTarget {
        file: Arc::from(file.path()),
        layout: layout.blocks(),
        blocks: u64::from(file.postings()),
    };
    let centroids = directory.centroids::<T>()?.ok_or_else(|| StorageError::MissingMember {
        path: directory.path().join(MemberKind::Centroids.file_name()),
    })?;
    let entry = manifest.entry.map(|node| node.0);
    let index = PostingIndex {
        layout,
        nodes: manifest.nodes,
        distance: Distance::new(manifest.metric, manifest.layout.dim()),
        graph: Graph::from_lists(&centroids.lists, manifest.layout.degree(), entry),
        centroids: centroids.vectors,
    };
    Ok((Arc::new(index), target))
}

fn load<T: Element>(directory: &IndexDirectory, options: &OpenOptions) -> Result<SearchIndex<T>, OpenError> {
    let manifest = directory.manifest();
    let estimates = load_estimates::<T>(directory)?;
    let mem_graph = if options.mem_graph { load_mem_graph(directory, estimates.codebook())? } else { None };
    Ok(SearchIndex {
        layout: manifest.layout,
        nodes: manifest.nodes,
        distance: Distance::new(manifest.metric, manifest.layout.dim()),
        estimates,
        entry: EntryPoints { medoid: manifest.entry.map(|node| node.0), mem_graph },
        cache: Cache::Empty,
    })
}

/// What neighbours are judged by: codes in memory, codes in records, or nothing.
fn load_estimates<T: Element>(directory: &IndexDirectory) -> Result<Estimates, OpenError> {
    let manifest = directory.manifest();
    if manifest.codes == CodeFormat::None {
        return Ok(Estimates::Off);
    }
    let path = directory.path().to_owned();
    let Some(codebook) = directory.codebook()? else { return Err(OpenError::NoCodes(path)) };
    let wrong =
        |error: &dyn std::fmt::Display| OpenError::Codes { path: path.clone(), message: error.to_string() };
    let codebook = Codebook::from_bytes(&codebook).map_err(|error| wrong(&error))?;
    if (codebook.dim(), codebook.metric()) != (manifest.layout.dim(), manifest.metric) {
        return Err(wrong(&format!(
            "the codebook is for {} dimensions under {}, the index has {} under {}",
            codebook.dim(),
            codebook.metric(),
            manifest.layout.dim(),
            manifest.metric
        )));
    }
    if codebook.chunks() != manifest.codes.bytes_per_node() {
        let (found, expected) = (codebook.chunks(), manifest.codes.bytes_per_node());
        return Err(wrong(&format!("the codebook has {found} chunks, the index codes of {expected} bytes")));
    }
    if manifest.layout.code_bytes() > 0 {
        let medoid = code_of_medoid::<T>(directory, &codebook)?;
        return Ok(Estimates::Record { codebook, medoid });
    }
    let Some(codes) = directory.codes()? else { return Err(OpenError::NoCodes(path)) };
    let codes = Codes::new(codes, &codebook).map_err(|error| wrong(&error))?;
    Ok(Estimates::Memory { codebook, codes })
}

/// The code of the entry point, which no record need hold.
fn code_of_medoid<T: Element>(
    directory: &IndexDirectory,
    codebook: &Codebook,
) -> Result<Option<Codes>, OpenError> {
    let Some(entry) = directory.manifest().entry else { return Ok(None) };
    let graph = directory.graph()?;
    let mut code = Matrix::<u8>::zeroed(1, codebook.chunks());
    codebook.encode_rows(NodeVectors::new(&graph).vector::<T>(entry.0)?, code.as_mut_slice());
    let wrong = |error: gleann_quant::QuantError| OpenError::Codes {
        path: directory.path().to_owned(),
        message: error.to_string(),
    };
    Codes::new(code, codebook).map(Some).map_err(wrong)
}

fn start<X: Searched>(
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

//! Opening an index: load what searches share, choose the disk, start the cores.

use crate::build::CodePlacement;
use crate::error::OpenError;
use crate::executor::{Executors, HostOptions, allowed_cpus};
use crate::info::IndexInfo;
use crate::io::{Direct, OpenedFile, map_file, open_for_reads};
use crate::keys::Keys;
use crate::options::{EngineChoice, MAX_IN_FLIGHT, MAX_THREADS, OpenOptions};
use gleann_quant::{Codebook, Codes};
use gleann_search::{Cache, EntryPoints, Estimates, SearchIndex};
use gleann_storage::{CodeFormat, IndexDirectory, ReadTarget};
use gleann_vector::{Distance, Element};
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
    let index = load::<T>(directory)?;
    let keys = Arc::new(directory.keys()?.map_or(Keys::Identity, Keys::Listed));
    let graph = directory.graph()?;
    let direct = if options.engine == EngineChoice::Mmap { Direct::Off } else { options.direct };
    let opened = open_for_reads(graph.path(), direct).map_err(|source| OpenError::Graph {
        path: graph.path().to_owned(),
        direct,
        source,
    })?;
    let host = HostOptions {
        cpus: choose_cpus(options.threads),
        pin: options.pin,
        in_flight: options.in_flight,
        spin: options.spin,
        target: ReadTarget {
            file: Arc::from(graph.path()),
            layout: *graph.layout(),
            blocks: u64::from(graph.blocks()),
        },
        keys: keys.clone(),
    };
    let mut warnings: Vec<String> = opened.warning.iter().cloned().collect();
    let (executors, engine) = start(&index, &opened, &host, options.engine, &mut warnings)?;
    for warning in &warnings {
        log::warn!("{warning}");
    }
    let manifest = directory.manifest();
    let info = IndexInfo {
        nodes: u64::from(index.nodes),
        layout: index.layout,
        metric: manifest.metric,
        packing: manifest.packing,
        codes: match (manifest.codes, manifest.layout.code_bytes()) {
            (CodeFormat::None, _) => CodePlacement::Off,
            (CodeFormat::Pq { .. }, 0) => CodePlacement::Memory,
            (CodeFormat::Pq { .. }, _) => CodePlacement::Record,
        },
        code_bytes: manifest.codes.bytes_per_node(),
        parameters: manifest.parameters.clone(),
        build_id: manifest.build_id.to_string(),
        engine,
        direct: opened.direct,
        file_system: opened.medium.file_system,
        threads: host.cpus.len(),
        in_flight: host.in_flight,
        memory_bytes: index.estimates.memory_bytes() as u64 + keys.bytes(),
        warnings,
    };
    Ok(Opened { executors, info })
}

fn load<T: Element>(directory: &IndexDirectory) -> Result<Arc<SearchIndex<T>>, OpenError> {
    let manifest = directory.manifest();
    Ok(Arc::new(SearchIndex {
        layout: manifest.layout,
        nodes: manifest.nodes,
        distance: Distance::new(manifest.metric, manifest.layout.dim()),
        estimates: load_estimates(directory)?,
        entry: EntryPoints { medoid: manifest.entry.map(|node| node.0), mem_graph: None },
        cache: Cache::empty(),
    }))
}

/// What neighbours are judged by: codes in memory, codes in records, or nothing.
fn load_estimates(directory: &IndexDirectory) -> Result<Estimates, OpenError> {
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
        return Ok(Estimates::Record { codebook });
    }
    let Some(codes) = directory.codes()? else { return Err(OpenError::NoCodes(path)) };
    let codes = Codes::new(codes, &codebook).map_err(|error| wrong(&error))?;
    Ok(Estimates::Memory { codebook, codes })
}

fn start<T: Element>(
    index: &Arc<SearchIndex<T>>,
    opened: &OpenedFile,
    host: &HostOptions,
    wanted: EngineChoice,
    warnings: &mut Vec<String>,
) -> Result<(Executors<T>, EngineChoice), OpenError> {
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

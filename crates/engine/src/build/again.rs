//! The options that an index was built with, from what it says of itself: to build it again of other vectors.

use super::report::read_report;
use super::{BuildOptions, CodePlacement, MemGraphOptions};
use gleann_storage::{IndexDirectory, MemberKind};

/// The options of the index in `directory`, but for keys and threads.
pub(crate) fn options_again(directory: &IndexDirectory) -> BuildOptions {
    let manifest = directory.manifest();
    let parameters = &manifest.parameters;
    let report = directory.report().ok().and_then(|map| read_report(map).ok());
    let defaults = BuildOptions::default();
    let described = parameters.options.get("mem_graph");
    let mem_graph = match described.and_then(|text| MemGraphOptions::of_description(text, manifest.nodes)) {
        // One that came with an imported graph.
        None => manifest.member(MemberKind::MemGraph).map(|_| MemGraphOptions::default()),
        described => described,
    };
    BuildOptions {
        metric: manifest.metric,
        degree: manifest.layout.degree(),
        build_list: parameters.build_list as usize,
        alpha: parameters.alpha,
        passes: parameters.passes,
        pq_bytes: manifest.codes.bytes_per_node(),
        codes: CodePlacement::of(manifest),
        packing: manifest.packing,
        page_size: manifest.layout.page_size(),
        mem_graph,
        memory_budget: report.map_or(defaults.memory_budget, |report| report.memory_budget),
        seed: parameters.seed,
        ..defaults
    }
}

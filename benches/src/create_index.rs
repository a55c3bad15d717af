//! `create-index`: an empty live index.

use crate::synthetic::parse_element;
use anyhow::Result;
use gleann::{Backend, BuildOptions, ElementType, Index, Metric, Packing, parse_bytes};
use std::path::PathBuf;

/// Make an empty live index, to be filled with `update`.
#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// The directory that becomes the index: new or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Type of the elements: f32, f16, u8 or i8
    #[arg(long = "type", value_name = "TYPE", value_parser = parse_element)]
    element: ElementType,
    /// Elements of a vector
    #[arg(long)]
    dim: usize,
    /// How near two vectors are: l2, ip or cosine
    #[arg(long, default_value_t = Metric::L2)]
    metric: Metric,
    /// How inserts reach the graph: fresh (buffered and merged) or odin (each at once)
    #[arg(long)]
    backend: Backend,
    /// R: the most neighbours a vector has
    #[arg(long, default_value_t = 64)]
    degree: usize,
    /// L: pool of the build that makes a graph of the first vectors, and of `update --compact`
    #[arg(long, default_value_t = 100)]
    build_list: usize,
    /// α of the prune, on squared distances
    #[arg(long, default_value_t = 1.2)]
    alpha: f32,
    /// Bytes of a code, 1 to the dimension
    #[arg(long, default_value_t = 32)]
    pq_bytes: usize,
    /// Which vectors share a page: by-id or page-shuffle
    #[arg(long, default_value_t = Packing::ById)]
    packing: Packing,
    /// Bytes of a page: 4096, 8192 or 16384
    #[arg(long, default_value_t = 4096)]
    page_size: usize,
    /// Most memory that its builds may take
    #[arg(long, default_value = "1GiB", value_parser = parse_bytes)]
    memory_budget: u64,
}

/// Runs the verb.
///
/// # Errors
/// An argument is out of range, or the directory cannot be made or is in use.
pub fn run(args: CreateArgs) -> Result<()> {
    let build = BuildOptions {
        metric: args.metric,
        degree: args.degree,
        build_list: args.build_list,
        alpha: args.alpha,
        pq_bytes: args.pq_bytes,
        packing: args.packing,
        page_size: args.page_size,
        memory_budget: args.memory_budget,
        ..BuildOptions::default()
    };
    Index::create(&args.out, args.element, args.dim, &build, args.backend)?;
    println!(
        "{}: an empty index of {} × {}, {}, backend {}; `cargo xtask update` fills it",
        args.out.display(),
        args.dim,
        args.element,
        args.metric,
        args.backend
    );
    Ok(())
}

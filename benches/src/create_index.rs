//! `create-index`: an empty live index.

use anyhow::Result;
use gleann::{Backend, BuildOptions, Durability, ElementType, Index, LiveOptions, Packing};
use gleann_vector::Metric;
use std::path::PathBuf;

/// Make an empty live index, to be filled with `update`.
#[derive(Debug, clap::Args)]
pub struct CreateArgs {
    /// The directory that becomes the index: new or empty
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Type of the elements: f32, f16, u8 or i8
    #[arg(long = "type", value_name = "TYPE", value_parser = crate::synthetic::parse_element)]
    element: ElementType,
    /// Elements of a vector
    #[arg(long)]
    dim: usize,
    /// How near two vectors are: l2, ip or cosine
    #[arg(long, default_value = "l2")]
    metric: Metric,
    /// How inserts reach the graph: fresh (buffered and merged) or odin (each at once)
    #[arg(long)]
    backend: Backend,
    /// When an update is acknowledged: each (when it is on the disk), group:TIME (when its group is), none
    #[arg(long, default_value = "group:5ms")]
    durability: Durability,
    /// R: the most neighbours a vector has
    #[arg(long, default_value_t = 64)]
    degree: usize,
    /// Pool of the search for a new vector's neighbours
    #[arg(long, default_value_t = 96)]
    insert_list: u32,
    /// α of the prune, on squared distances
    #[arg(long, default_value_t = 1.2)]
    alpha: f32,
    /// Bytes of the compressed vector
    #[arg(long, default_value_t = 32)]
    pq_bytes: usize,
    /// Which vectors share a page: by-id or page-shuffle
    #[arg(long, default_value = "by-id")]
    packing: Packing,
    /// Bytes of a page: 4096, 8192 or 16384
    #[arg(long, default_value_t = 4096)]
    page_size: usize,
}

/// Runs the verb.
///
/// # Errors
/// An argument is out of range, or the directory cannot be made or is in use.
pub fn run(args: CreateArgs) -> Result<()> {
    let build = BuildOptions {
        metric: args.metric,
        degree: args.degree,
        alpha: args.alpha,
        pq_bytes: args.pq_bytes,
        packing: args.packing,
        page_size: args.page_size,
        ..BuildOptions::default()
    };
    let live = LiveOptions {
        backend: args.backend,
        durability: args.durability,
        insert_list: args.insert_list,
        ..LiveOptions::default()
    };
    Index::create_empty(&args.out, args.element, args.dim, &build, &live)?;
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

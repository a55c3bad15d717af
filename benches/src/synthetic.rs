//! `generate`: seeded synthetic vectors of any size, in constant memory. Every name says that they are synthetic.
//!
//! Rows come in blocks of a fixed number of elements; each block has a generator of its own, seeded by (seed,
//! purpose, block number). So the bytes depend on the arguments alone, not on the threads, and the first rows of
//! a larger set are the rows of a smaller one with the same seed.

use anyhow::{Context, bail};
use gleann_vector::{Element, ElementType, FileFormat, MAX_DIM, VectorWriter};
use half::f16;
use rand::Rng;
use rand_pcg::Pcg64Mcg;
use rayon::prelude::*;
use serde::Serialize;
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// Elements of a block, the unit of generation. Part of the format: another value gives other rows.
const BLOCK_ELEMENTS: usize = 1 << 16;
/// Blocks that are made together: what memory holds at a time.
const BLOCKS_AT_ONCE: u64 = 64;
/// Version of the generator, written beside the vectors.
const VERSION: u32 = 1;
/// Spread of a cluster, and of the centres, so that a coordinate has variance 1.
const CLUSTER_SPREAD: f32 = 0.5;
/// Spread of the noise around the low-dimensional plane.
const NOISE: f32 = 0.05;
/// Integers per unit of spread: four spreads fit to either side.
const INTEGER_SCALE: f32 = 32.0;

/// Arguments of `generate`.
#[derive(Debug, Clone, clap::Args, Serialize)]
pub struct GenerateArgs {
    /// Base rows
    #[arg(long)]
    rows: u64,
    /// Elements a row, 1 to 8192
    #[arg(long, default_value_t = 128)]
    dim: usize,
    /// Queries, of the same distribution, none of them a base row
    #[arg(long, default_value_t = 1000)]
    queries: u64,
    /// Type of the elements: f32, f16, u8 or i8
    #[arg(long = "type", value_name = "TYPE", default_value = "f32", value_parser = parse_element)]
    element: ElementType,
    /// Distribution of the rows
    #[arg(long, value_enum, default_value_t = Kind::Lowdim)]
    kind: Kind,
    /// Clusters of `clustered`; the i-th has a weight of 1/√i
    #[arg(long, default_value_t = 100)]
    clusters: usize,
    /// Intrinsic dimension of `lowdim`
    #[arg(long, default_value_t = 16)]
    latent: usize,
    /// Seed; other seeds give unrelated rows
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Folder for the files, which is made if it is not there
    #[arg(long, value_name = "DIR")]
    #[serde(skip)]
    out: PathBuf,
}

/// Distributions of synthetic rows. Every coordinate has mean 0 and a variance of about 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// A mixture of round Gaussian clusters: hard inside a cluster, as the intrinsic dimension is the dimension
    Clustered,
    /// A random linear image of a few Gaussian dimensions, and a little noise: as easy as real data
    Lowdim,
    /// Every coordinate uniform and independent: harder than any real data
    Uniform,
}

/// An element type by its name.
///
/// # Errors
/// There is none of that name.
pub fn parse_element(name: &str) -> Result<ElementType, String> {
    let known = ElementType::ALL.into_iter().find(|element| element.name() == name);
    known.ok_or_else(|| format!("unknown element type `{name}`; expected f32, f16, u8 or i8"))
}

/// Runs `generate`.
///
/// # Errors
/// The arguments cannot be, too many queries would be base rows, or writing fails.
pub fn run_generate(args: GenerateArgs) -> anyhow::Result<()> {
    check(&args)?;
    let files = match args.element {
        ElementType::F32 => generate::<f32>(&args),
        ElementType::F16 => generate::<f16>(&args),
        ElementType::U8 => generate::<u8>(&args),
        ElementType::I8 => generate::<i8>(&args),
    }?;
    let [base, query, truth] = [files.base, files.query, files.truth].map(|path| path.display().to_string());
    println!("base    {base}\nquery   {query}");
    println!("next    cargo xtask ground-truth --base {base} --query {query} --metric l2 --out {truth}");
    println!("        cargo xtask build-index --data {base} --metric l2 --out {}.index", base);
    Ok(())
}

fn check(args: &GenerateArgs) -> anyhow::Result<()> {
    let limit = u64::from(u32::MAX);
    if !(1..=limit).contains(&args.rows) || !(1..=limit).contains(&args.queries) {
        bail!("--rows {} --queries {}: a file holds 1 to {limit} rows", args.rows, args.queries);
    }
    if !(1..=MAX_DIM).contains(&args.dim) {
        bail!("--dim {}: expected 1 to {MAX_DIM}", args.dim);
    }
    if args.kind == Kind::Clustered && !(1..=1 << 20).contains(&args.clusters) {
        bail!("--clusters {}: expected 1 to {}", args.clusters, 1 << 20);
    }
    if args.kind == Kind::Lowdim && !(1..=args.dim).contains(&args.latent) {
        bail!("--latent {}: expected 1 to the dimension, {}", args.latent, args.dim);
    }
    Ok(())
}

/// Where the generated files lie, or will.
struct Files {
    base: PathBuf,
    query: PathBuf,
    truth: PathBuf,
    note: PathBuf,
}

impl Files {
    fn of(args: &GenerateArgs) -> Self {
        let kind = format!("{:?}", args.kind).to_lowercase();
        let suffix = FileFormat::big_ann(args.element).suffix();
        let file = |rest: String| args.out.join(format!("synthetic-{kind}-{rest}"));
        Self {
            base: file(format!("base.{suffix}")),
            query: file(format!("query.{suffix}")),
            truth: file("gt.bin".into()),
            note: file("note.json".into()),
        }
    }
}

fn generate<T: Element>(args: &GenerateArgs) -> anyhow::Result<Files> {
    std::fs::create_dir_all(&args.out)
        .with_context(|| format!("making the folder {}", args.out.display()))?;
    let files = Files::of(args);
    let stream = Stream { distribution: Distribution::new(args), dim: args.dim, seed: args.seed };
    // Where collisions are likely (few bits a row) some spares are used; elsewhere none.
    let candidates: Vec<T> = stream.rows(Purpose::Query, args.queries + args.queries / 4 + 16);
    let mut taken = HashSet::new();
    let wanted: HashSet<&[u8]> = candidates.chunks_exact(args.dim).map(bytemuck::cast_slice).collect();
    let mut base = VectorWriter::<T>::create(&files.base, FileFormat::big_ann(T::TYPE), args.dim)?;
    let mut shown = 0;
    for batch in stream.batches(args.rows) {
        let (rows, hits) = batch.fill(&stream, &wanted);
        rows.iter().try_for_each(|block| base.push_rows(block))?;
        taken.extend(hits);
        let tenths = batch.end * 10 / args.rows;
        if tenths > shown && args.rows * args.dim as u64 > 1 << 26 {
            eprintln!("{} %", tenths * 10);
            shown = tenths;
        }
    }
    let free =
        candidates.chunks_exact(args.dim).filter(|row| !taken.contains(bytemuck::cast_slice::<T, u8>(row)));
    let free: Vec<&[T]> = free.take(args.queries as usize).collect();
    if (free.len() as u64) < args.queries {
        bail!(
            "only {} queries of {} candidates are no base rows: {} × {} has too few values for {} rows; take a larger \
             --dim or --type f32",
            free.len(),
            candidates.len() / args.dim,
            args.dim,
            args.element,
            args.rows
        );
    }
    let mut query = VectorWriter::<T>::create(&files.query, FileFormat::big_ann(T::TYPE), args.dim)?;
    free.into_iter().try_for_each(|row| query.push_rows(row))?;
    write_note(args, &files.note)?;
    query.finish()?;
    base.finish()?;
    Ok(files)
}

fn write_note(args: &GenerateArgs, path: &Path) -> anyhow::Result<()> {
    #[derive(Serialize)]
    struct Note<'a> {
        synthetic: bool,
        note: &'static str,
        generator_version: u32,
        #[serde(flatten)]
        args: &'a GenerateArgs,
    }
    let note = Note {
        synthetic: true,
        note: "Synthetic vectors made by `cargo xtask generate` with these arguments. Say so wherever results on \
               them are shown: real data behave otherwise.",
        generator_version: VERSION,
        args,
    };
    let text = serde_json::to_string_pretty(&note)? + "\n";
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

/// What a random stream is for. Streams of different purposes are independent.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    Shape,
    Base,
    Query,
}

/// The generator of one block.
struct Source {
    pcg: Pcg64Mcg,
    spare: Option<f32>,
}

impl Source {
    fn new(seed: u64, purpose: Purpose, block: u64) -> Self {
        let key = mix(mix(seed) ^ (purpose as u64 + 1)) ^ block;
        let state = u128::from(mix(key)) << 64 | u128::from(mix(key ^ 0x5851_f42d_4c95_7f2d));
        Self { pcg: Pcg64Mcg::new(state), spare: None }
    }

    /// Uniform in [0, 1).
    fn unit(&mut self) -> f64 {
        (self.pcg.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal (Box and Muller).
    fn normal(&mut self) -> f32 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        let (sin, cos) = (std::f64::consts::TAU * self.unit()).sin_cos();
        self.spare = Some((radius * sin) as f32);
        (radius * cos) as f32
    }
}

/// The finaliser of SplitMix64: a bijection that spreads every bit.
fn mix(value: u64) -> u64 {
    let z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A distribution of rows, with its centres or its map drawn.
enum Distribution {
    /// Centres, row-major, and the summed weights up to each.
    Clustered {
        centres: Vec<f32>,
        summed: Vec<f64>,
    },
    /// The rows of the map: one for every latent dimension.
    Lowdim {
        map: Vec<f32>,
    },
    Uniform,
}

impl Distribution {
    fn new(args: &GenerateArgs) -> Self {
        let mut source = Source::new(args.seed, Purpose::Shape, 0);
        let mut normals = |count: usize, spread: f32| (0..count).map(|_| source.normal() * spread).collect();
        match args.kind {
            Kind::Clustered => {
                let spread = (1.0 - CLUSTER_SPREAD * CLUSTER_SPREAD).sqrt();
                let weight = |i: usize| 1.0 / ((i + 1) as f64).sqrt();
                let add = |sum: &mut f64, i: usize| {
                    *sum += weight(i);
                    Some(*sum)
                };
                let summed = (0..args.clusters).scan(0.0, add).collect();
                Distribution::Clustered { centres: normals(args.clusters * args.dim, spread), summed }
            }
            Kind::Lowdim => {
                let spread = 1.0 / (args.latent as f32).sqrt();
                Distribution::Lowdim { map: normals(args.latent * args.dim, spread) }
            }
            Kind::Uniform => Distribution::Uniform,
        }
    }

    fn draw(&self, source: &mut Source, row: &mut [f32]) {
        match self {
            Distribution::Clustered { centres, summed } => {
                let at = source.unit() * summed.last().expect("there is a cluster");
                let cluster = summed.partition_point(|&sum| sum <= at).min(summed.len() - 1);
                let centre = &centres[cluster * row.len()..][..row.len()];
                row.iter_mut().zip(centre).for_each(|(x, c)| *x = c + CLUSTER_SPREAD * source.normal());
            }
            Distribution::Lowdim { map } => {
                row.iter_mut().for_each(|x| *x = NOISE * source.normal());
                for direction in map.chunks_exact(row.len()) {
                    let amount = source.normal();
                    row.iter_mut().zip(direction).for_each(|(x, d)| *x += amount * d);
                }
            }
            // Variance 1: uniform in ±√3.
            Distribution::Uniform => {
                row.iter_mut().for_each(|x| *x = ((source.unit() * 2.0 - 1.0) * 3f64.sqrt()) as f32);
            }
        }
    }
}

/// Rows of one distribution, by purpose and number.
struct Stream {
    distribution: Distribution,
    dim: usize,
    seed: u64,
}

impl Stream {
    fn block_rows(&self) -> u64 {
        (BLOCK_ELEMENTS / self.dim).max(1) as u64
    }

    /// Block `block` of `purpose`, the last one of `rows` rows cut short.
    fn block<T: Element>(&self, purpose: Purpose, block: u64, rows: u64) -> Vec<T> {
        let count = self.block_rows().min(rows - block * self.block_rows()) as usize;
        let mut source = Source::new(self.seed, purpose, block);
        let (mut row, mut out) = (vec![0.0; self.dim], Vec::with_capacity(count * self.dim));
        for _ in 0..count {
            source.spare = None;
            self.distribution.draw(&mut source, &mut row);
            out.extend(row.iter().map(|&x| quantised::<T>(x)));
        }
        out
    }

    fn rows<T: Element>(&self, purpose: Purpose, rows: u64) -> Vec<T> {
        let blocks = 0..rows.div_ceil(self.block_rows());
        blocks.into_par_iter().flat_map_iter(|block| self.block::<T>(purpose, block, rows)).collect()
    }

    fn batches(&self, rows: u64) -> impl Iterator<Item = Batch> + use<> {
        let size = self.block_rows() * BLOCKS_AT_ONCE;
        let batch =
            move |i: u64| Batch { first_block: i * BLOCKS_AT_ONCE, end: rows.min((i + 1) * size), rows };
        (0..rows.div_ceil(size)).map(batch)
    }
}

/// Blocks of base rows that are made together; `end` is one past their last row, `rows` the rows of all.
struct Batch {
    first_block: u64,
    end: u64,
    rows: u64,
}

impl Batch {
    /// The blocks, and the rows among them that are in `wanted`.
    fn fill<T: Element>(&self, stream: &Stream, wanted: &HashSet<&[u8]>) -> (Vec<Vec<T>>, Vec<Vec<u8>>) {
        let blocks = self.first_block..self.end.div_ceil(stream.block_rows());
        let made: Vec<(Vec<T>, Vec<Vec<u8>>)> = blocks
            .into_par_iter()
            .map(|block| {
                let rows = stream.block::<T>(Purpose::Base, block, self.rows);
                let bytes = rows.chunks_exact(stream.dim).map(bytemuck::cast_slice::<T, u8>);
                let hits = bytes.filter(|row| wanted.contains(row)).map(<[u8]>::to_vec).collect();
                (rows, hits)
            })
            .collect();
        let (rows, hits): (Vec<_>, Vec<_>) = made.into_iter().unzip();
        (rows, hits.into_iter().flatten().collect())
    }
}

/// The nearest value of the type, on the scale that four spreads fit into the integers.
fn quantised<T: Element>(x: f32) -> T {
    let scaled = match T::TYPE {
        ElementType::F32 | ElementType::F16 => x,
        ElementType::U8 => (x * INTEGER_SCALE + 128.0).clamp(0.0, 255.0),
        ElementType::I8 => (x * INTEGER_SCALE).clamp(-127.0, 127.0),
    };
    T::from_f32(scaled).expect("a row of unit spread fits every type")
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleann_vector::{Matrix, VectorFile};

    fn args(kind: Kind, element: ElementType, out: &Path) -> GenerateArgs {
        let out = out.to_owned();
        GenerateArgs {
            rows: 3000,
            dim: 64,
            queries: 50,
            element,
            kind,
            clusters: 20,
            latent: 6,
            seed: 7,
            out,
        }
    }

    fn read<T: Element>(path: &Path) -> Matrix<T> {
        VectorFile::open(path).unwrap().read_all().unwrap()
    }

    /// Levina and Bickel's estimate over the 20 nearest of 100 rows.
    fn intrinsic_dimension(rows: &Matrix<f32>) -> f64 {
        let estimates = (0..100).map(|a| {
            let distance =
                |b: usize| rows.row(a).iter().zip(rows.row(b)).map(|(x, y)| (x - y).powi(2)).sum::<f32>();
            let mut all: Vec<f32> = (0..rows.rows()).filter(|&b| b != a).map(distance).collect();
            all.sort_by(f32::total_cmp);
            let logs: f64 = all[..19].iter().map(|&d| f64::from(d / all[19]).ln() / 2.0).sum();
            -19.0 / logs
        });
        estimates.sum::<f64>() / 100.0
    }

    #[test]
    fn the_same_arguments_give_the_same_bytes_whatever_the_threads() {
        for kind in [Kind::Clustered, Kind::Lowdim, Kind::Uniform] {
            let made = [1, 3].map(|threads| {
                let dir = tempfile::tempdir().unwrap();
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                let files =
                    pool.install(|| generate::<u8>(&args(kind, ElementType::U8, dir.path()))).unwrap();
                [files.base, files.query, files.note].map(|path| std::fs::read(path).unwrap())
            });
            assert_eq!(made[0], made[1]);
        }
    }

    #[test]
    fn a_smaller_set_is_the_beginning_of_a_larger_one_and_seeds_differ() {
        let dirs = [0, 1, 2].map(|_| tempfile::tempdir().unwrap());
        let small = args(Kind::Lowdim, ElementType::I8, dirs[0].path());
        let large = GenerateArgs { rows: 80_000, out: dirs[1].path().into(), ..small.clone() };
        let other = GenerateArgs { seed: 8, out: dirs[2].path().into(), ..small.clone() };
        let [small, large, other] = [small, large, other].map(|args| {
            let files = generate::<i8>(&args).unwrap();
            read::<i8>(&files.base)
        });
        assert_eq!(large.rows(), 80_000);
        assert_eq!(small.as_slice(), &large.as_slice()[..small.as_slice().len()]);
        let equal = small.as_slice().iter().zip(other.as_slice()).filter(|(a, b)| a == b).count();
        assert!(equal * 20 < small.as_slice().len(), "{equal} equal elements");
    }

    #[test]
    fn the_kinds_have_the_intrinsic_dimension_they_promise() {
        let dir = tempfile::tempdir().unwrap();
        let measured = [Kind::Lowdim, Kind::Uniform, Kind::Clustered].map(|kind| {
            let files = generate::<f32>(&args(kind, ElementType::F32, dir.path())).unwrap();
            intrinsic_dimension(&read(&files.base))
        });
        assert!((4.0..8.0).contains(&measured[0]), "lowdim of 6: {}", measured[0]);
        assert!(measured[1] > 20.0 && measured[2] > 15.0, "{measured:?}");
    }

    #[test]
    fn every_type_has_unit_spread_on_its_scale() {
        let dir = tempfile::tempdir().unwrap();
        fn spread<T: Element>(dir: &Path, kind: Kind) -> (f64, f64) {
            let files = generate::<T>(&args(kind, T::TYPE, dir)).unwrap();
            let rows = read::<T>(&files.base);
            let values: Vec<f64> = rows.as_slice().iter().map(|x| f64::from(x.to_f32())).collect();
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64;
            (mean, variance.sqrt())
        }
        for kind in [Kind::Clustered, Kind::Lowdim, Kind::Uniform] {
            for (mean, deviation) in [spread::<f32>(dir.path(), kind), spread::<f16>(dir.path(), kind)] {
                assert!(
                    mean.abs() < 0.2 && (0.8..1.2).contains(&deviation),
                    "{kind:?}: {mean} ± {deviation}"
                );
            }
            let (mean, deviation) = spread::<u8>(dir.path(), kind);
            assert!((mean - 128.0).abs() < 7.0 && (25.0..39.0).contains(&deviation), "{mean} ± {deviation}");
            let (mean, deviation) = spread::<i8>(dir.path(), kind);
            assert!(mean.abs() < 7.0 && (25.0..39.0).contains(&deviation), "{mean} ± {deviation}");
        }
    }

    #[test]
    fn no_query_is_a_base_row() {
        let dir = tempfile::tempdir().unwrap();
        // Two bytes a row: about one candidate in fourteen is a base row.
        let tight = GenerateArgs { dim: 2, rows: 3000, ..args(Kind::Uniform, ElementType::U8, dir.path()) };
        let files = generate::<u8>(&tight).unwrap();
        let (base, query) = (read::<u8>(&files.base), read::<u8>(&files.query));
        let rows: HashSet<&[u8]> = (0..base.rows()).map(|row| base.row(row)).collect();
        assert_eq!(query.rows(), 50);
        assert!((0..50).all(|row| !rows.contains(query.row(row))));
        let crowded = GenerateArgs { dim: 1, ..tight };
        let message = run_generate(crowded).unwrap_err().to_string();
        assert!(message.contains("are no base rows") && message.contains("--dim"), "{message}");
        assert!(!files.base.with_extension("u8bin.tmp").exists());
    }

    #[test]
    fn names_and_note_say_synthetic() {
        let dir = tempfile::tempdir().unwrap();
        run_generate(args(Kind::Clustered, ElementType::F16, dir.path())).unwrap();
        for entry in std::fs::read_dir(dir.path()).unwrap() {
            assert!(entry.unwrap().file_name().to_str().unwrap().starts_with("synthetic-clustered-"));
        }
        let note = std::fs::read_to_string(dir.path().join("synthetic-clustered-note.json")).unwrap();
        let note: serde_json::Value = serde_json::from_str(&note).unwrap();
        assert_eq!((&note["synthetic"], &note["seed"]), (&true.into(), &7.into()));
    }

    #[test]
    fn impossible_arguments_are_refused() {
        let good = args(Kind::Lowdim, ElementType::F32, Path::new("/nonexistent"));
        let bad = [
            GenerateArgs { rows: 0, ..good.clone() },
            GenerateArgs { rows: 1 << 32, ..good.clone() },
            GenerateArgs { dim: 0, ..good.clone() },
            GenerateArgs { dim: 8193, ..good.clone() },
            GenerateArgs { latent: 65, ..good.clone() },
            GenerateArgs { clusters: 0, kind: Kind::Clustered, ..good.clone() },
        ];
        assert!(check(&good).is_ok() && bad.iter().all(|args| check(args).is_err()));
    }
}

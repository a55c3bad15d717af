//! Product quantisation on seeded clustered u8 rows of 128 dimensions in 32 chunks: training, encoding, filling a
//! table, and estimating 64 random ids with codes in the caches and with codes spread over main memory.
//!
//! The ids of an estimate are drawn anew for every iteration, or the caches would hold them.

use anyhow::{Context, Result};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use gleann_quant::{Codebook, Codes, DistanceTable, PqParams, training_sample};
use gleann_vector::{Matrix, Metric, Silent};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};
use std::hint::black_box;
use std::time::Duration;

const DIM: usize = 128;
const CHUNKS: usize = 32;
const BATCH: usize = 64;

/// Rows of the set that fits into the second-level cache as codes, and of the one that fits into no cache.
const HOT: usize = 8_192;
const COLD: usize = 4_000_000;

fn main() -> Result<()> {
    let mut criterion = Criterion::default().configure_from_args();
    let rows = clustered(65_536);
    let sample = training_sample(&rows, 16_384, 1).context("rows in memory")?;
    let params = PqParams::new(Metric::L2, CHUNKS);
    let codebook = Codebook::train(&sample, params, &Silent)?;
    train(&mut criterion, &sample, params);
    encode(&mut criterion, &rows, &codebook);
    fill(&mut criterion, &sample)?;
    estimate(&mut criterion, &codebook, sample.row(0))?;
    criterion.final_summary();
    Ok(())
}

/// Rows around 256 centres.
fn clustered(rows: usize) -> Matrix<u8> {
    let mut random = Pcg64::seed_from_u64(5);
    let mut uniform = move |below: u64| ((random.next_u64() >> 32) * below) >> 32;
    let centres: Vec<u8> = (0..256 * DIM).map(|_| 40 + uniform(150) as u8).collect();
    let mut matrix = Matrix::zeroed(rows, DIM);
    for row in matrix.as_mut_slice().chunks_exact_mut(DIM) {
        let centre = &centres[uniform(256) as usize * DIM..][..DIM];
        row.iter_mut()
            .zip(centre)
            .for_each(|(value, centre)| *value = centre + (uniform(32) + uniform(32)) as u8);
    }
    matrix
}

fn train(criterion: &mut Criterion, sample: &Matrix<f32>, params: PqParams) {
    let mut group = criterion.benchmark_group("pq/train");
    group.sample_size(10).warm_up_time(Duration::from_millis(100));
    group.throughput(Throughput::Elements(sample.rows() as u64));
    group.bench_function(BenchmarkId::from_parameter(format!("{} rows", sample.rows())), |bencher| {
        bencher.iter(|| Codebook::train(black_box(sample), params, &Silent).map(|codebook| codebook.dim()));
    });
    group.finish();
}

fn encode(criterion: &mut Criterion, rows: &Matrix<u8>, codebook: &Codebook) {
    let mut group = criterion.benchmark_group("pq/encode");
    group.sample_size(10).throughput(Throughput::Elements(rows.rows() as u64));
    let mut codes = vec![0; rows.rows() * CHUNKS];
    group.bench_function(BenchmarkId::from_parameter(format!("{} rows", rows.rows())), |bencher| {
        bencher.iter(|| codebook.encode_rows(black_box(rows.as_slice()), black_box(&mut codes)));
    });
    group.finish();
}

fn fill(criterion: &mut Criterion, sample: &Matrix<f32>) -> Result<()> {
    let mut group = criterion.benchmark_group("pq/fill");
    for metric in Metric::ALL {
        let params = PqParams { rounds: 1, ..PqParams::new(metric, CHUNKS) };
        let codebook = Codebook::train(sample, params, &Silent)?;
        let mut table = DistanceTable::new();
        group.bench_function(BenchmarkId::from_parameter(metric), |bencher| {
            bencher.iter(|| table.fill(&codebook, black_box(sample.row(7))));
        });
    }
    group.finish();
    Ok(())
}

/// How a batch of ids is estimated.
#[derive(Clone, Copy)]
enum Way {
    /// Id by id: no prefetch, no interleaving.
    Singly,
    /// As a batch, which prefetches as it goes.
    Batch,
    /// As a batch whose codes the caller has asked for before.
    Prefetched,
}

fn estimate(criterion: &mut Criterion, codebook: &Codebook, query: &[f32]) -> Result<()> {
    let mut table = DistanceTable::new();
    table.fill(codebook, query);
    for (name, rows) in [("hot", HOT), ("cold", COLD)] {
        let codes = random_codes(rows, codebook)?;
        let mut group = criterion.benchmark_group(format!("pq/estimate/{name}"));
        group.throughput(Throughput::Elements(BATCH as u64));
        for (way_name, way) in
            [("singly", Way::Singly), ("batch", Way::Batch), ("prefetched", Way::Prefetched)]
        {
            let mut random = Pcg64::seed_from_u64(3);
            let mut ids = || -> [u32; BATCH] {
                std::array::from_fn(|_| (((random.next_u64() >> 32) * rows as u64) >> 32) as u32)
            };
            let mut out = [0.0f32; BATCH];
            group.bench_function(way_name, |bencher| {
                bencher.iter_batched(
                    &mut ids,
                    |ids| run(&table, &codes, (&ids, way), black_box(&mut out)),
                    BatchSize::SmallInput,
                );
            });
        }
        group.finish();
    }
    Ok(())
}

fn run(table: &DistanceTable, codes: &Codes, (ids, way): (&[u32; BATCH], Way), out: &mut [f32; BATCH]) {
    match way {
        Way::Singly => {
            ids.iter().zip(out).for_each(|(&id, out)| *out = table.estimate_one(codes, id));
        }
        Way::Batch => table.estimate(codes, ids, out),
        Way::Prefetched => {
            ids.iter().for_each(|&id| codes.prefetch(id));
            table.estimate(codes, ids, out);
        }
    }
}

fn random_codes(rows: usize, codebook: &Codebook) -> Result<Codes> {
    let mut random = Pcg64::seed_from_u64(11);
    let mut bytes = Matrix::zeroed(rows, CHUNKS);
    for word in bytes.as_mut_slice().chunks_exact_mut(8) {
        word.copy_from_slice(&random.next_u64().to_le_bytes());
    }
    Ok(Codes::new(bytes, codebook)?)
}

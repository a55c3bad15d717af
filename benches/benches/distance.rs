//! Distance kernels against `simsimd`: `cargo bench -p gleann-bench --bench distance`.
//!
//! Every figure is the time of one distance. It is processor time of the benching thread, so that other work on the
//! machine disturbs it less. `pair` calls a kernel once a row, `many` once a batch, over rows that stay in the
//! first-level cache; `gathered` takes 64 random rows of a matrix larger than the last-level cache.

use criterion::measurement::{Measurement, ValueFormatter};
use criterion::{BenchmarkId, Criterion, Throughput};
use gleann_vector::{CpuPath, Distance, Element, ElementType, Matrix, Metric, cpu_report};
use half::f16;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::ffi::c_void;
use std::hint::black_box;
use std::time::Duration;

// The crate's safe interface has no u8; its library has.
use simsimd as _;

const DIMS: [usize; 7] = [96, 100, 128, 384, 768, 960, 1536];

type Call = unsafe extern "C" fn(*const c_void, *const c_void, u64, *mut f64);

unsafe extern "C" {
    fn simsimd_l2sq_f32(a: *const c_void, b: *const c_void, dim: u64, result: *mut f64);
    fn simsimd_dot_f32(a: *const c_void, b: *const c_void, dim: u64, result: *mut f64);
    fn simsimd_cos_f32(a: *const c_void, b: *const c_void, dim: u64, result: *mut f64);
    fn simsimd_l2sq_f16(a: *const c_void, b: *const c_void, dim: u64, result: *mut f64);
    fn simsimd_dot_f16(a: *const c_void, b: *const c_void, dim: u64, result: *mut f64);
    fn simsimd_cos_f16(a: *const c_void, b: *const c_void, dim: u64, result: *mut f64);
    fn simsimd_l2sq_u8(a: *const c_void, b: *const c_void, dim: u64, result: *mut f64);
    fn simsimd_dot_u8(a: *const c_void, b: *const c_void, dim: u64, result: *mut f64);
    fn simsimd_cos_u8(a: *const c_void, b: *const c_void, dim: u64, result: *mut f64);
    fn simsimd_l2sq_i8(a: *const c_void, b: *const c_void, dim: u64, result: *mut f64);
    fn simsimd_dot_i8(a: *const c_void, b: *const c_void, dim: u64, result: *mut f64);
    fn simsimd_cos_i8(a: *const c_void, b: *const c_void, dim: u64, result: *mut f64);
}

/// The kernel of `simsimd` for an element type and metric.
fn simsimd_kernel(element: ElementType, metric: Metric) -> Call {
    match (element, metric) {
        (ElementType::F32, Metric::L2) => simsimd_l2sq_f32,
        (ElementType::F32, Metric::InnerProduct) => simsimd_dot_f32,
        (ElementType::F32, Metric::Cosine) => simsimd_cos_f32,
        (ElementType::F16, Metric::L2) => simsimd_l2sq_f16,
        (ElementType::F16, Metric::InnerProduct) => simsimd_dot_f16,
        (ElementType::F16, Metric::Cosine) => simsimd_cos_f16,
        (ElementType::U8, Metric::L2) => simsimd_l2sq_u8,
        (ElementType::U8, Metric::InnerProduct) => simsimd_dot_u8,
        (ElementType::U8, Metric::Cosine) => simsimd_cos_u8,
        (ElementType::I8, Metric::L2) => simsimd_l2sq_i8,
        (ElementType::I8, Metric::InnerProduct) => simsimd_dot_i8,
        (ElementType::I8, Metric::Cosine) => simsimd_cos_i8,
    }
}

/// The value of `simsimd` as f32, which it has in f64.
fn simsimd_between<T: Element>(kernel: Call, a: &[T], b: &[T]) -> f32 {
    assert_eq!(a.len(), b.len());
    let mut result = 0.0;
    // SAFETY: both slices hold `a.len()` elements of the type the kernel was chosen for.
    unsafe { kernel(a.as_ptr().cast(), b.as_ptr().cast(), a.len() as u64, &mut result) };
    result as f32
}

/// Processor time of the calling thread, in nanoseconds.
struct ThreadTime;

impl Measurement for ThreadTime {
    type Intermediate = u64;
    type Value = u64;

    fn start(&self) -> u64 {
        let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: writes one timespec.
        let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut now) };
        assert_eq!(failed, 0, "the thread's clock can be read");
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    fn end(&self, start: u64) -> u64 {
        self.start() - start
    }

    fn add(&self, a: &u64, b: &u64) -> u64 {
        a + b
    }

    fn zero(&self) -> u64 {
        0
    }

    fn to_f64(&self, value: &u64) -> f64 {
        *value as f64
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        &PerDistance
    }
}

/// Shows the time of one distance.
struct PerDistance;

impl ValueFormatter for PerDistance {
    fn scale_values(&self, _typical: f64, _values: &mut [f64]) -> &'static str {
        "ns"
    }

    fn scale_throughputs(&self, _typical: f64, throughput: &Throughput, values: &mut [f64]) -> &'static str {
        if let Throughput::Elements(distances) = throughput {
            values.iter_mut().for_each(|value| *value /= *distances as f64);
        }
        "ns/distance"
    }

    fn scale_for_machines(&self, _values: &mut [f64]) -> &'static str {
        "ns"
    }
}

fn random<T: Element>(elements: usize, rng: &mut Pcg64Mcg) -> Vec<T> {
    let range = match T::TYPE {
        ElementType::U8 => 0.0..255.0f32,
        ElementType::I8 => -128.0..127.0,
        ElementType::F32 | ElementType::F16 => -1.0..1.0,
    };
    (0..elements)
        .map(|_| T::from_f32(rng.random_range(range.clone())).expect("the value is in range"))
        .collect()
}

/// Ours, of every path this processor has, and theirs, over rows in the first-level cache.
fn in_cache<T: Element>(criterion: &mut Criterion<ThreadTime>, metric: Metric, dim: usize) {
    let rows = (16_384 / (dim * size_of::<T>())).clamp(4, 64);
    let mut rng = Pcg64Mcg::seed_from_u64(1);
    let (query, base) = (random::<T>(dim, &mut rng), random::<T>(rows * dim, &mut rng));
    let mut group = criterion.benchmark_group(format!("{}-{metric}", T::TYPE));
    group.throughput(Throughput::Elements(rows as u64));
    let kernel = simsimd_kernel(T::TYPE, metric);
    group.bench_function(BenchmarkId::new("simsimd", dim), |bencher| {
        bencher.iter(|| {
            let query = black_box(&query);
            base.chunks_exact(dim).map(|row| simsimd_between(kernel, query, row)).sum::<f32>()
        });
    });
    for path in CpuPath::ALL {
        let Some(distance) = Distance::<T>::with_path(metric, dim, path) else { continue };
        group.bench_function(BenchmarkId::new(format!("{path}-pair"), dim), |bencher| {
            bencher.iter(|| {
                let query = black_box(&query);
                base.chunks_exact(dim).map(|row| distance.between(query, row)).sum::<f32>()
            });
        });
        let mut out = vec![0.0; rows];
        group.bench_function(BenchmarkId::new(format!("{path}-many"), dim), |bencher| {
            bencher.iter(|| {
                distance.to_many(black_box(&query), &base, &mut out);
                black_box(&mut out);
            });
        });
    }
    group.finish();
}

/// 64 random rows of a large matrix: what building a graph does all day.
fn out_of_cache<T: Element>(criterion: &mut Criterion<ThreadTime>, metric: Metric, dim: usize) {
    const IDS: usize = 64;
    let rows = (256 << 20) / (dim * size_of::<T>());
    let mut rng = Pcg64Mcg::seed_from_u64(2);
    let (query, pattern) = (random::<T>(dim, &mut rng), random::<T>(dim << 10, &mut rng));
    let mut matrix = Matrix::<T>::zeroed(rows, dim);
    matrix.as_mut_slice().chunks_mut(dim << 10).for_each(|part| part.copy_from_slice(&pattern[..part.len()]));
    let ids: Vec<u32> = (0..1 << 16).map(|_| rng.random_range(0..rows as u32)).collect();
    let mut batches = ids.chunks_exact(IDS).cycle();
    let mut group = criterion.benchmark_group(format!("{}-{metric}-out-of-cache", T::TYPE));
    group.throughput(Throughput::Elements(IDS as u64));
    let kernel = simsimd_kernel(T::TYPE, metric);
    group.bench_function(BenchmarkId::new("simsimd", dim), |bencher| {
        bencher.iter(|| {
            let ids = batches.next().expect("the batches go on for ever");
            ids.iter().map(|&id| simsimd_between(kernel, &query, matrix.row(id as usize))).sum::<f32>()
        });
    });
    let distance = Distance::<T>::new(metric, dim);
    group.bench_function(BenchmarkId::new("pair", dim), |bencher| {
        bencher.iter(|| {
            let ids = batches.next().expect("the batches go on for ever");
            ids.iter().map(|&id| distance.between(&query, matrix.row(id as usize))).sum::<f32>()
        });
    });
    let mut out = [0.0; IDS];
    group.bench_function(BenchmarkId::new("gathered", dim), |bencher| {
        bencher.iter(|| {
            let ids = batches.next().expect("the batches go on for ever");
            distance.to_gathered(&query, &matrix, ids, &mut out);
            black_box(&mut out);
        });
    });
    group.finish();
}

fn main() {
    let mut criterion = Criterion::default()
        .with_measurement(ThreadTime)
        .warm_up_time(Duration::from_millis(100))
        .measurement_time(Duration::from_millis(300))
        .sample_size(30)
        .configure_from_args();
    println!("cpu path: {}", cpu_report());
    for metric in Metric::ALL {
        for dim in DIMS {
            in_cache::<f32>(&mut criterion, metric, dim);
            in_cache::<f16>(&mut criterion, metric, dim);
            in_cache::<u8>(&mut criterion, metric, dim);
            in_cache::<i8>(&mut criterion, metric, dim);
        }
    }
    out_of_cache::<u8>(&mut criterion, Metric::L2, 128);
    out_of_cache::<f32>(&mut criterion, Metric::L2, 100);
    out_of_cache::<f32>(&mut criterion, Metric::L2, 960);
    criterion.final_summary();
}

//! Exact ground truth against a naive oracle with its own arithmetic, and the side-car that ties it to its data.

#![allow(clippy::unwrap_used)] // outside of test functions too: this is all test code

use gleann_vector::{
    Cancelled, Element, ElementType, Fingerprint, GroundTruth, Matrix, Metric, NO_ID, Progress, RowSource,
    SidecarError, Silent, SourceError, TruthError, TruthMeta, TruthParams, VectorFile, VectorWriter,
    exact_truth, sidecar_path, verify_sidecar,
};
use half::f16;
use rand::RngExt;
use rand::SeedableRng;
use rand_pcg::Pcg64;
use std::cmp::Ordering;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tempfile::TempDir;

/// Few different values, so that ties abound; integers, so that the oracle is exact for every element type.
fn vectors<T: Element>(rng: &mut Pcg64, rows: usize, dim: usize, spread: i32) -> Matrix<T> {
    let low = if T::TYPE == ElementType::U8 { 0 } else { -spread };
    let elements: Vec<T> =
        (0..rows * dim).map(|_| T::from_f32(rng.random_range(low..=spread) as f32).unwrap()).collect();
    Matrix::from_rows(&elements, dim)
}

/// Sums of integer products.
struct Sums {
    dot: i64,
    aa: i64,
    bb: i64,
}

fn sums<T: Element>(a: &[T], b: &[T]) -> Sums {
    let whole = |x: &T| x.to_f32() as i64;
    let dot = |a: &[T], b: &[T]| a.iter().zip(b).map(|(x, y)| whole(x) * whole(y)).sum();
    Sums { dot: dot(a, b), aa: dot(a, a), bb: dot(b, b) }
}

/// Compares two rows by distance without rounding: cosines as fractions, squared with their sign.
fn compare(metric: Metric, x: &Sums, y: &Sums) -> Ordering {
    let l2 = |s: &Sums| s.aa + s.bb - 2 * s.dot;
    match metric {
        Metric::L2 => l2(x).cmp(&l2(y)),
        Metric::InnerProduct => y.dot.cmp(&x.dot),
        Metric::Cosine => {
            let fraction = |s: &Sums| match i128::from(s.aa) * i128::from(s.bb) {
                0 => (0, 1),
                lengths => (i128::from(s.dot) * i128::from(s.dot.abs()), lengths),
            };
            let ((xn, xd), (yn, yd)) = (fraction(x), fraction(y));
            (yn * xd).cmp(&(xn * yd))
        }
    }
}

fn user_distance(metric: Metric, s: &Sums) -> f64 {
    match metric {
        Metric::L2 => (s.aa + s.bb - 2 * s.dot) as f64,
        Metric::InnerProduct => s.dot as f64,
        Metric::Cosine if s.aa == 0 || s.bb == 0 => 2.0,
        Metric::Cosine => 2.0 - 2.0 * s.dot as f64 / (s.aa as f64 * s.bb as f64).sqrt(),
    }
}

/// All rows by (distance, id), for every query.
fn oracle<T: Element>(base: &Matrix<T>, queries: &Matrix<T>, metric: Metric) -> Vec<Vec<(u32, Sums)>> {
    let of = |query| {
        let mut all: Vec<(u32, Sums)> =
            (0..base.rows()).map(|row| (row as u32, sums(query, base.row(row)))).collect();
        all.sort_by(|(i, x), (j, y)| compare(metric, x, y).then(i.cmp(j)));
        all
    };
    (0..queries.rows()).map(|query| of(queries.row(query))).collect()
}

fn check_against_oracle<T: Element>(oracle: &[Vec<(u32, Sums)>], truth: &GroundTruth, metric: Metric) {
    let k = truth.k;
    assert_eq!((truth.queries, truth.ids.len()), (oracle.len(), oracle.len() * k));
    // Cosines of floats are rounded once in f64: equal directions of different lengths may come in any order.
    let is_rounded = metric == Metric::Cosine && matches!(T::TYPE, ElementType::F32 | ElementType::F16);
    for (query, expected) in oracle.iter().enumerate() {
        let (ids, distances) = (truth.ids_of(query), truth.distances_of(query).unwrap());
        let count = k.min(expected.len());
        for (slot, (id, sums)) in expected[..count].iter().enumerate() {
            let context = format!("{metric} {} query {query} slot {slot} of {k}", T::TYPE);
            let found = expected.iter().find(|(id, _)| *id == ids[slot]).map(|(_, sums)| sums);
            let is_tied = found.is_some_and(|found| compare(metric, found, sums).is_eq());
            assert!(ids[slot] == *id || is_rounded && is_tied, "{context}: {} not {id}", ids[slot]);
            assert!(!ids[..slot].contains(&ids[slot]), "{context}: {} twice", ids[slot]);
            let wanted = user_distance(metric, sums) as f32;
            let slack = if metric == Metric::Cosine { 1e-6 } else { 0.0 };
            assert!((distances[slot] - wanted).abs() <= slack, "{context}: {} not {wanted}", distances[slot]);
        }
        assert!(ids[count..].iter().all(|id| *id == NO_ID));
        assert!(distances[count..].iter().all(|d| *d == f32::INFINITY));
    }
}

fn grid<T: Element>(seed: u64) {
    let mut rng = Pcg64::seed_from_u64(seed);
    for (rows, dim, spread) in
        [(0, 3, 1), (1, 1, 1), (5, 2, 1), (300, 4, 1), (300, 5, 3), (400, 128, 127), (40, 700, 127)]
    {
        let (base, queries) =
            (vectors::<T>(&mut rng, rows, dim, spread), vectors::<T>(&mut rng, 5, dim, spread));
        for metric in Metric::ALL {
            let oracle = oracle(&base, &queries, metric);
            for (k, block_bytes) in [(1, 0), (10, 1 << 12), (100, 1 << 30)] {
                let params = TruthParams { metric, k, block_bytes };
                let truth = exact_truth(&base, &queries, params, &Silent).unwrap();
                check_against_oracle::<T>(&oracle, &truth, metric);
            }
        }
    }
}

#[test]
fn agrees_with_the_oracle_f32() {
    grid::<f32>(1);
}

#[test]
fn agrees_with_the_oracle_f16() {
    grid::<f16>(2);
}

#[test]
fn agrees_with_the_oracle_u8() {
    grid::<u8>(3);
}

#[test]
fn agrees_with_the_oracle_i8() {
    grid::<i8>(4);
}

/// Squared distances of full-range bytes pass 2²⁴ at dimension 259: an f32 sum cannot tell neighbours apart.
#[test]
fn integers_stay_exact_where_f32_is_not() {
    for dim in [257, 258, 259, 8192] {
        let far = vec![255u8; dim];
        let mut base = Vec::new();
        for step in (0..20u8).rev() {
            let mut row = far.clone();
            // The square changes by less than f32 resolves at this size.
            row[0] = 235 + step;
            base.extend(row);
        }
        let (base, query) = (Matrix::from_rows(&base, dim), Matrix::from_rows(&vec![0u8; dim], dim));
        for metric in [Metric::L2, Metric::InnerProduct] {
            let params = TruthParams { metric, k: 7, block_bytes: 1 << 14 };
            let truth = exact_truth(&base, &query, params, &Silent).unwrap();
            check_against_oracle::<u8>(&oracle(&base, &query, metric), &truth, metric);
        }
        let params = TruthParams { metric: Metric::L2, k: 3, block_bytes: 1 << 14 };
        assert_eq!(exact_truth(&base, &query, params, &Silent).unwrap().ids, [19, 18, 17]);
    }
}

/// Tag 0, rows with fewer than k neighbours and their tails: what other tools get wrong.
#[test]
fn row_zero_is_found_and_short_rows_are_marked() {
    let base = Matrix::from_rows(&[0.0f32, 1.0, 3.0], 1);
    let queries = Matrix::from_rows(&[0.0f32, 3.0], 1);
    let find = |k| {
        exact_truth(&base, &queries, TruthParams { metric: Metric::L2, k, block_bytes: 4 }, &Silent).unwrap()
    };
    let three = find(3);
    assert_eq!(three.ids, [0, 1, 2, 2, 1, 0]);
    assert_eq!(three.distances.unwrap(), [0.0, 1.0, 9.0, 0.0, 4.0, 9.0]);
    let five = find(5);
    assert_eq!(five.ids, [0, 1, 2, NO_ID, NO_ID, 2, 1, 0, NO_ID, NO_ID]);
    let inf = f32::INFINITY;
    assert_eq!(five.distances.unwrap(), [0.0, 1.0, 9.0, inf, inf, 0.0, 4.0, 9.0, inf, inf]);
    let ip = TruthParams { metric: Metric::InnerProduct, k: 4, block_bytes: 4 };
    let ip = exact_truth(&base, &queries, ip, &Silent).unwrap();
    assert_eq!(ip.ids, [0, 1, 2, NO_ID, 2, 1, 0, NO_ID]);
    assert_eq!(ip.distances.unwrap(), [0.0, 0.0, 0.0, inf, 9.0, 3.0, 0.0, inf]);
    let empty = Matrix::<f32>::zeroed(0, 1);
    let none =
        exact_truth(&empty, &queries, TruthParams { metric: Metric::L2, k: 1, block_bytes: 4 }, &Silent)
            .unwrap();
    assert_eq!(none.ids, [NO_ID, NO_ID]);
    let nobody =
        exact_truth(&base, &empty, TruthParams { metric: Metric::L2, k: 1, block_bytes: 4 }, &Silent)
            .unwrap();
    assert_eq!((nobody.queries, nobody.ids.len()), (0, 0));
}

/// The scale and sign of each metric, as a report prints them.
#[test]
fn every_metric_has_its_scale() {
    let base = Matrix::from_rows(&[3.0f32, 4.0, 0.0, 0.0, -3.0, -4.0], 2);
    let query = Matrix::from_rows(&[6.0f32, 8.0], 2);
    for (metric, ids, distances) in [
        (Metric::L2, [0, 1, 2], [25.0, 100.0, 225.0]),
        (Metric::InnerProduct, [0, 1, 2], [50.0, 0.0, -50.0]),
        (Metric::Cosine, [0, 1, 2], [0.0, 2.0, 4.0]),
    ] {
        let truth =
            exact_truth(&base, &query, TruthParams { metric, k: 3, block_bytes: 1 }, &Silent).unwrap();
        assert_eq!((truth.ids, truth.distances.unwrap()), (ids.to_vec(), distances.to_vec()), "{metric}");
    }
}

#[test]
fn equal_rows_come_in_id_order() {
    let base = Matrix::from_rows(&[7u8; 1000 * 3], 3);
    let query = Matrix::from_rows(&[9u8, 1, 4], 3);
    for metric in Metric::ALL {
        let params = TruthParams { metric, k: 20, block_bytes: 100 };
        let truth = exact_truth(&base, &query, params, &Silent).unwrap();
        assert_eq!(truth.ids, (0..20).collect::<Vec<u32>>());
    }
}

/// Sums that overflow f32, or vanish in it, on the way do not hide a neighbour.
#[test]
fn extreme_floats_are_not_lost() {
    let base = Matrix::from_rows(&[2e20f32, -2e20, 1.0, 3e20, -3e20, 2.0, 1.0, 1.0, 0.0], 3);
    let query = Matrix::from_rows(&[1e20f32, 1e20, 1.0], 3);
    let params = |metric| TruthParams { metric, k: 3, block_bytes: 1 };
    let truth = exact_truth(&base, &query, params(Metric::InnerProduct), &Silent).unwrap();
    assert_eq!(truth.ids, [2, 1, 0]);
    assert_eq!(truth.distances.unwrap(), [2e20, 2.0, 1.0]);
    let tiny = Matrix::from_rows(&[3e-30f32, 1e-30, 2e-30], 1);
    let zero = Matrix::from_rows(&[0.0f32], 1);
    assert_eq!(exact_truth(&tiny, &zero, params(Metric::L2), &Silent).unwrap().ids, [1, 2, 0]);
    let vast = Matrix::from_rows(&[3e30f32, 1e30, 2e30], 1);
    let truth = exact_truth(&vast, &zero, params(Metric::L2), &Silent).unwrap();
    assert_eq!(truth.ids, [1, 2, 0]);
    assert_eq!(truth.distances.unwrap(), [f32::INFINITY; 3]);
    let slanted = Matrix::from_rows(&[1e-30f32, 1e-30, 1e-30, 0.0, 1e30, 2e29], 2);
    let axis = Matrix::from_rows(&[1e25f32, 0.0], 2);
    assert_eq!(exact_truth(&slanted, &axis, params(Metric::Cosine), &Silent).unwrap().ids, [1, 2, 0]);
}

#[test]
fn threads_and_blocks_change_nothing() {
    let mut rng = Pcg64::seed_from_u64(5);
    let mut floats = |rows: usize| {
        Matrix::from_rows(&(0..rows * 16).map(|_| rng.random_range(-1.0..1.0f32)).collect::<Vec<_>>(), 16)
    };
    let (base, queries) = (floats(3000), floats(130));
    for metric in Metric::ALL {
        let mut seen: Option<GroundTruth> = None;
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            for block_bytes in [1 << 12, 100_000, 1 << 24] {
                let params = TruthParams { metric, k: 10, block_bytes };
                let truth = pool.install(|| exact_truth(&base, &queries, params, &Silent).unwrap());
                assert_eq!(*seen.get_or_insert_with(|| truth.clone()), truth);
            }
        }
    }
}

#[test]
fn bad_questions_are_refused() {
    let base = Matrix::from_rows(&[0.0f32, 1.0, 2.0, 3.0], 2);
    let params = |k| TruthParams { metric: Metric::L2, k, block_bytes: 8 };
    let ask =
        |queries: &Matrix<f32>, k| exact_truth(&base, queries, params(k), &Silent).unwrap_err().to_string();
    let query = Matrix::from_rows(&[0.0f32, 0.0], 2);
    assert_eq!(ask(&query, 0), "k is 0; expected 1 to 65536");
    assert_eq!(ask(&query, 65_537), "k is 65537; expected 1 to 65536");
    let other = Matrix::from_rows(&[0.0f32; 3], 3);
    assert!(ask(&other, 1).contains("the base has 2 dimensions, the queries have 3"));
    let nan = Matrix::from_rows(&[0.0f32, 0.0, 1.0, f32::NAN], 2);
    assert!(ask(&nan, 1).contains("query row 1, component 1 is NaN"));
    let infinite = Matrix::from_rows(&[0.0f32, 1.0, 2.0, 3.0, f32::INFINITY, 5.0, f32::NAN, 0.0], 2);
    let error = exact_truth(&infinite, &query, params(1), &Silent).unwrap_err().to_string();
    assert!(error.contains("base row 2, component 0 is inf"), "{error}");
}

/// A source that breaks, or claims more rows than there are ids.
struct Claims {
    rows: u64,
}

impl RowSource<u8> for Claims {
    fn rows(&self) -> u64 {
        self.rows
    }

    fn dim(&self) -> usize {
        1
    }

    fn read_rows(&self, start: u64, into: &mut [u8]) -> Result<(), SourceError> {
        if start > 5 {
            let end = start + into.len() as u64;
            return Err(SourceError { name: "claims".into(), start, end, message: "broken".into() });
        }
        into.fill(1);
        Ok(())
    }
}

#[test]
fn broken_sources_are_errors() {
    let query = Matrix::from_rows(&[0u8], 1);
    let params = TruthParams { metric: Metric::L2, k: 1, block_bytes: 8 };
    let error = exact_truth(&Claims { rows: 100 }, &query, params, &Silent).unwrap_err();
    assert_eq!(error.to_string(), "reading rows 8..12 of claims: broken");
    let error = exact_truth(&Claims { rows: u64::from(u32::MAX) + 1 }, &query, params, &Silent).unwrap_err();
    assert!(matches!(error, TruthError::TooManyRows { found: 4_294_967_296 }), "{error}");
}

/// Counts what is reported and cancels after a number of reports.
struct Counting {
    total: AtomicU64,
    done: AtomicU64,
    limit: u64,
}

impl Progress for Counting {
    fn phase(&self, _name: &str, total: u64) {
        self.total.store(total, Relaxed);
    }

    fn advance(&self, done: u64) {
        self.done.fetch_add(done, Relaxed);
    }

    fn cancelled(&self) -> bool {
        self.done.load(Relaxed) >= self.limit
    }
}

#[test]
fn progress_adds_up_and_can_cancel() {
    let (base, queries) = (Matrix::from_rows(&[1u8; 100], 1), Matrix::from_rows(&[0u8; 70], 1));
    let params = TruthParams { metric: Metric::L2, k: 1, block_bytes: 20 };
    let counting = |limit| Counting { total: AtomicU64::new(0), done: AtomicU64::new(0), limit };
    let all = counting(u64::MAX);
    exact_truth(&base, &queries, params, &all).unwrap();
    assert_eq!((all.total.into_inner(), all.done.into_inner()), (7000, 7000));
    let some = counting(1000);
    let error = exact_truth(&base, &queries, params, &some).unwrap_err();
    assert!(matches!(error, TruthError::Cancelled(Cancelled)));
    assert!(some.done.into_inner() < 3000);
}

#[test]
fn a_file_streams_like_a_matrix() {
    let dir = TempDir::new().unwrap();
    let mut rng = Pcg64::seed_from_u64(6);
    let (base, queries) = (vectors::<i8>(&mut rng, 500, 12, 100), vectors::<i8>(&mut rng, 20, 12, 100));
    let path = dir.path().join("base.i8bin");
    let mut writer = VectorWriter::<i8>::create(&path, gleann_vector::FileFormat::I8bin, 12).unwrap();
    writer.push_rows(base.as_slice()).unwrap();
    writer.finish().unwrap();
    let source = VectorFile::open(&path).unwrap().source::<i8>().unwrap();
    let params = TruthParams { metric: Metric::Cosine, k: 5, block_bytes: 1000 };
    let of_file = exact_truth(&source, &queries, params, &Silent).unwrap();
    assert_eq!(of_file, exact_truth(&base, &queries, params, &Silent).unwrap());
}

#[test]
fn fingerprints_are_of_the_content() {
    let dir = TempDir::new().unwrap();
    let matrix = Matrix::from_rows(&(0..=255).collect::<Vec<u8>>(), 4);
    let print = Fingerprint::of(&matrix).unwrap();
    for format in
        [gleann_vector::FileFormat::U8bin, gleann_vector::FileFormat::Bvecs, gleann_vector::FileFormat::Npy]
    {
        let path = dir.path().join(format!("a.{format}"));
        let mut writer = VectorWriter::<u8>::create(&path, format, 4).unwrap();
        writer.push_rows(&[9, 9, 9, 9]).unwrap();
        writer.push_rows(matrix.as_slice()).unwrap();
        writer.finish().unwrap();
        let slice = VectorFile::open(&path).unwrap().slice(1, 64).unwrap();
        assert_eq!(Fingerprint::of(&slice.source::<u8>().unwrap()).unwrap(), print);
    }
    let mut changed = matrix.as_slice().to_vec();
    changed[255] ^= 1;
    assert_ne!(Fingerprint::of(&Matrix::from_rows(&changed, 4)).unwrap().hash, print.hash);
    // The value is part of the side-car format.
    assert_eq!(print.hash.to_string(), "xxh3-128:f1f8a93f50849ac39408a4433b952d71");
}

#[test]
fn the_side_car_names_what_differs() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("gt100");
    let mut rng = Pcg64::seed_from_u64(7);
    let (base, queries) = (vectors::<u8>(&mut rng, 50, 4, 9), vectors::<u8>(&mut rng, 5, 4, 9));
    let params = TruthParams { metric: Metric::L2, k: 3, block_bytes: 1 << 20 };
    let truth = exact_truth(&base, &queries, params, &Silent).unwrap();
    truth.write(&path).unwrap();
    let (base_print, query_print) = (Fingerprint::of(&base).unwrap(), Fingerprint::of(&queries).unwrap());
    let meta = TruthMeta::new(Metric::L2, base_print, query_print, &truth);
    let missing = verify_sidecar(&path, &meta).unwrap_err();
    assert!(matches!(&missing, SidecarError::Missing { path: p } if *p == sidecar_path(&path)), "{missing}");
    meta.write(&path).unwrap();
    assert_eq!(sidecar_path(&path), dir.path().join("gt100.meta.json"));
    assert_eq!(TruthMeta::read(&path).unwrap(), meta);
    let read = GroundTruth::read(&path).unwrap();
    verify_sidecar(&path, &TruthMeta::new(Metric::L2, base_print, query_print, &read)).unwrap();
    let other = vectors::<u8>(&mut rng, 50, 4, 9);
    let fewer = Matrix::from_rows(&base.as_slice()[..40 * 4], 4);
    let mut swapped = read.clone();
    swapped.ids.swap(0, 1);
    let differing = [
        (
            TruthMeta::new(Metric::InnerProduct, base_print, query_print, &read),
            "metric l2, it is used with ip",
        ),
        (TruthMeta::new(Metric::L2, Fingerprint::of(&fewer).unwrap(), query_print, &read), "base rows 50"),
        (
            TruthMeta::new(Metric::L2, Fingerprint::of(&other).unwrap(), query_print, &read),
            "base hash xxh3-128:",
        ),
        (
            TruthMeta::new(Metric::L2, base_print, Fingerprint::of(&fewer).unwrap(), &read),
            "query rows 5, it is used with 40",
        ),
        (TruthMeta::new(Metric::L2, base_print, query_print, &swapped), "truth hash"),
    ];
    for (expected, message) in differing {
        let error = verify_sidecar(&path, &expected).unwrap_err().to_string();
        assert!(error.contains("gt100.meta.json") && error.contains(message), "{error}");
    }
    let text = std::fs::read_to_string(sidecar_path(&path)).unwrap();
    for (from, to, message) in [
        ("\"version\": 1", "\"version\": 2", "version 2 is unknown; expected 1"),
        ("\"k\"", "\"kk\"", "unknown field `kk`"),
        ("xxh3-128:", "md5:", "is no hash"),
        ("\"l2\"", "\"hamming\"", "unknown variant `hamming`"),
        ("{", "", "side-car"),
    ] {
        std::fs::write(sidecar_path(&path), text.replacen(from, to, 1)).unwrap();
        let error = verify_sidecar(&path, &meta).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
}

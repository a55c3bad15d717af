//! Seeded rows for the tests, and the oracle: decode, then measure.
#![allow(dead_code, reason = "every test binary uses a part of it")]

use gleann_quant::{Codebook, Codes, PqParams};
use gleann_vector::{Element, Matrix, Metric, Silent};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// Rows around a few centres; components lie in 1..=120, so every element type holds them.
pub fn clustered(rows: usize, dim: usize, seed: u64) -> Matrix<f32> {
    let mut random = Pcg64::seed_from_u64(seed);
    let mut uniform = move |below: u64| (random.next_u64() >> 16) % below;
    let centres: Vec<f32> = (0..16 * dim).map(|_| 21.0 + uniform(80) as f32).collect();
    let mut matrix = Matrix::zeroed(rows, dim);
    for row in 0..rows {
        let centre = &centres[uniform(16) as usize * dim..][..dim];
        for (value, centre) in matrix.row_mut(row).iter_mut().zip(centre) {
            *value = centre + uniform(21) as f32 - uniform(21) as f32;
        }
    }
    matrix
}

/// The same values as another element type.
pub fn cast<T: Element>(rows: &Matrix<f32>) -> Matrix<T> {
    let values: Vec<T> =
        rows.as_slice().iter().map(|&x| T::from_f32(x).expect("small values fit every type")).collect();
    if values.is_empty() {
        Matrix::zeroed(rows.rows(), rows.dim())
    } else {
        Matrix::from_rows(&values, rows.dim())
    }
}

/// A codebook with a few rounds of training.
pub fn train(sample: &Matrix<f32>, metric: Metric, chunks: usize) -> Codebook {
    Codebook::train(sample, PqParams { rounds: 4, ..PqParams::new(metric, chunks) }, &Silent)
        .expect("a sound sample")
}

/// The codes of all rows.
pub fn encode<T: Element>(codebook: &Codebook, rows: &Matrix<T>) -> Codes {
    let mut bytes = Matrix::zeroed(rows.rows(), codebook.chunks());
    codebook.encode_rows(rows.as_slice(), bytes.as_mut_slice());
    Codes::new(bytes, codebook).expect("codes of this codebook")
}

/// `row` in f64, normalised under cosine; a zero row stays zero.
pub fn prepared<T: Element>(metric: Metric, row: &[T]) -> Vec<f64> {
    let mut row: Vec<f64> = row.iter().map(|x| f64::from(x.to_f32())).collect();
    let norm = dot(&row, &row).sqrt();
    if metric == Metric::Cosine && norm > 0.0 {
        row.iter_mut().for_each(|x| *x /= norm);
    }
    row
}

/// The estimate in f64: the ordering distance of `query` to the decoded row.
pub fn measure(metric: Metric, query: &[f32], decoded: &[f32]) -> f64 {
    let (query, row) = (prepared(metric, query), prepared(Metric::L2, decoded));
    match metric {
        Metric::L2 => query.iter().zip(&row).map(|(q, x)| (q - x).powi(2)).sum(),
        Metric::InnerProduct => -dot(&query, &row),
        Metric::Cosine => 2.0 - 2.0 * dot(&query, &row),
    }
}

/// Mean squared L2 distance between rows and what their codes stand for.
pub fn quantisation_error<T: Element>(codebook: &Codebook, rows: &Matrix<T>) -> f64 {
    let codes = encode(codebook, rows);
    let mut decoded = vec![0.0; codebook.dim()];
    let errors = (0..rows.rows()).map(|row| {
        codebook.decode(codes.code(row as u32), &mut decoded);
        let exact = prepared(codebook.metric(), rows.row(row));
        exact.iter().zip(&decoded).map(|(x, &y)| (x - f64::from(y)).powi(2)).sum::<f64>()
    });
    errors.sum::<f64>() / rows.rows() as f64
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

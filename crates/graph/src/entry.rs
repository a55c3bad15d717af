//! The entry point: the row nearest to the mean, by an exact scan.

use crate::BuildDistance;
use gleann_vector::{Element, Matrix, Metric};
use rayon::prelude::*;

/// Rows a partial sum covers: fixed, so that the order of additions does not depend on the threads.
const CHUNK: usize = 4096;

/// The row nearest to the mean of all rows (for cosine: of the normalised rows; for the inner product: in the
/// extended space of [`BuildDistance`]), the smallest id among equals; `None` where there are no rows.
pub fn nearest_to_mean<T: Element>(vectors: &Matrix<T>, distance: &BuildDistance<T>) -> Option<u32> {
    let mean = mean(vectors, distance);
    let nearest = (0..vectors.rows().div_ceil(CHUNK))
        .into_par_iter()
        .filter_map(|chunk| {
            let rows = chunk * CHUNK..vectors.rows().min((chunk + 1) * CHUNK);
            rows.map(|id| (to_mean(vectors, distance, &mean, id), id as u32)).min_by(order)
        })
        .min_by(order);
    nearest.map(|(_, id)| id)
}

fn order(a: &(f32, u32), b: &(f32, u32)) -> std::cmp::Ordering {
    a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
}

/// What a row is multiplied by before it is averaged.
fn scale<T: Element>(row: &[T], metric: Metric) -> f32 {
    if metric != Metric::Cosine {
        return 1.0;
    }
    let square: f32 = row.iter().map(|x| x.to_f32() * x.to_f32()).sum();
    if square > 0.0 { square.sqrt().recip() } else { 0.0 }
}

/// The mean, and behind it the mean of the extra component.
fn mean<T: Element>(vectors: &Matrix<T>, distance: &BuildDistance<T>) -> Vec<f32> {
    let dim = vectors.dim();
    let partial: Vec<Vec<f64>> = (0..vectors.rows().div_ceil(CHUNK))
        .into_par_iter()
        .map(|chunk| {
            let mut sum = vec![0.0f64; dim + 1];
            for id in chunk * CHUNK..vectors.rows().min((chunk + 1) * CHUNK) {
                let row = vectors.row(id);
                let scale = scale(row, distance.metric());
                for (sum, x) in sum.iter_mut().zip(row) {
                    *sum += f64::from(x.to_f32() * scale);
                }
                sum[dim] += f64::from(distance.extra(id as u32));
            }
            sum
        })
        .collect();
    let rows = vectors.rows().max(1) as f64;
    (0..=dim).map(|i| (partial.iter().map(|sum| sum[i]).sum::<f64>() / rows) as f32).collect()
}

/// Squared distance of a row to the mean.
fn to_mean<T: Element>(vectors: &Matrix<T>, distance: &BuildDistance<T>, mean: &[f32], id: usize) -> f32 {
    let row = vectors.row(id);
    let scale = scale(row, distance.metric());
    let square: f32 = row.iter().zip(mean).map(|(x, mean)| (x.to_f32() * scale - mean).powi(2)).sum();
    square + (distance.extra(id as u32) - mean[row.len()]).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_middle_for_every_metric() {
        let rows = [0.0f32, 0.0, 10.0, 0.0, 4.0, 5.0, 0.0, 10.0, 10.0, 10.0, 4.0, 5.0];
        let vectors = Matrix::from_rows(&rows, 2);
        let nearest = |metric| nearest_to_mean(&vectors, &BuildDistance::new(metric, &vectors));
        assert_eq!(nearest(Metric::L2), Some(2), "the first of two equal rows");
        assert_eq!(nearest(Metric::Cosine), Some(4), "no zero vector, which has no direction");
        assert!(nearest(Metric::InnerProduct).is_some());
        let none = Matrix::<u8>::zeroed(0, 3);
        assert_eq!(nearest_to_mean(&none, &BuildDistance::new(Metric::L2, &none)), None);
    }

    #[test]
    fn does_not_depend_on_the_threads() {
        let rows: Vec<f32> =
            (0..30_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 8) as f32 / 1e6).collect();
        let vectors = Matrix::from_rows(&rows, 3);
        let distance = BuildDistance::new(Metric::Cosine, &vectors);
        let means: Vec<Vec<f32>> = [1, 3]
            .into_iter()
            .map(|threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| mean(&vectors, &distance))
            })
            .collect();
        assert_eq!(means[0], means[1]);
    }
}

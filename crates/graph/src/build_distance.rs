//! What a build measures with. The rules of pruning need a distance that is a squared Euclidean distance of
//! something; the inner product is none, so the build sees its vectors in one more dimension.

use gleann_vector::{Distance, Element, Matrix, Metric};

/// Squared distances between rows of one matrix.
///
/// * L2 and cosine: the metric's own ordering distance (cosine's is the squared L2 of normalised vectors).
/// * Inner product: squared L2 after every vector x is extended by √(M² − |x|²), M being the largest norm. All
///   extended vectors have norm M, so this distance orders neighbours as the inner product does, and unlike it
///   obeys the triangle inequality that occlusion relies on. It is taken as |a − b|² + (e_a − e_b)², which has
///   none of the cancellation of 2M² − 2·a·b − 2·e_a·e_b: equal rows are at exactly 0. Only the extra component
///   is stored, 4 bytes a row. A search for a query needs none of this: −q·x orders the same.
#[derive(Debug, Clone)]
pub struct BuildDistance<T: Element> {
    metric: Metric,
    kernel: Distance<T>,
    /// The extra component of every row; empty but for the inner product.
    extra: Vec<f32>,
}

impl<T: Element> BuildDistance<T> {
    /// The distance of `metric` over the rows of `vectors`.
    pub fn new(metric: Metric, vectors: &Matrix<T>) -> Self {
        let (seen_as, extra) = match metric {
            Metric::InnerProduct => (Metric::L2, extra_components(vectors)),
            Metric::L2 | Metric::Cosine => (metric, Vec::new()),
        };
        Self { metric, kernel: Distance::new(seen_as, vectors.dim()), extra }
    }

    /// The metric the graph is built for.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// The extra component of a row: 0 but for the inner product.
    #[inline]
    pub(crate) fn extra(&self, id: u32) -> f32 {
        if self.extra.is_empty() { 0.0 } else { self.extra[id as usize] }
    }

    /// Distance between two rows of `vectors`, the matrix this was made for.
    #[inline]
    pub fn between(&self, vectors: &Matrix<T>, a: u32, b: u32) -> f32 {
        let distance = self.kernel.between(vectors.row(a as usize), vectors.row(b as usize));
        distance + (self.extra(a) - self.extra(b)).powi(2)
    }

    /// Distances from row `from` to the rows `ids`, into the first `ids.len()` places of `out`.
    #[inline]
    pub fn to_rows(&self, vectors: &Matrix<T>, from: u32, ids: &[u32], out: &mut [f32]) {
        self.kernel.to_gathered(vectors.row(from as usize), vectors, ids, &mut out[..ids.len()]);
        if !self.extra.is_empty() {
            let own = self.extra(from);
            for (&id, out) in ids.iter().zip(out) {
                *out += (own - self.extra(id)).powi(2);
            }
        }
    }
}

/// √(M² − |x|²) of every row.
fn extra_components<T: Element>(vectors: &Matrix<T>) -> Vec<f32> {
    let square = |row: usize| -> f64 { vectors.row(row).iter().map(|x| f64::from(x.to_f32()).powi(2)).sum() };
    let squares = || (0..vectors.rows()).map(square);
    let largest = squares().fold(0.0, f64::max);
    squares().map(|own| (largest - own).max(0.0).sqrt() as f32).collect()
}

/// Candidate vectors copied side by side, so that the pair distances of a prune run in the nearest cache.
#[derive(Debug)]
pub struct Gathered<T: Element> {
    rows: Matrix<T>,
    extra: Vec<f32>,
}

impl<T: Element> Default for Gathered<T> {
    fn default() -> Self {
        Self::empty()
    }
}

impl<T: Element> Gathered<T> {
    /// No rows.
    pub fn empty() -> Self {
        Self { rows: Matrix::zeroed(0, 0), extra: Vec::new() }
    }

    /// Copies the rows `ids` of `vectors`, in that order; keeps its memory between calls.
    pub fn gather(
        &mut self,
        vectors: &Matrix<T>,
        distance: &BuildDistance<T>,
        ids: impl Iterator<Item = u32> + Clone,
    ) {
        let mut count = 0;
        for id in ids.clone() {
            vectors.prefetch(id as usize);
            count += 1;
        }
        if self.rows.rows() < count || self.rows.dim() != vectors.dim() {
            self.rows = Matrix::zeroed(count.next_power_of_two(), vectors.dim());
        }
        self.extra.clear();
        for (place, id) in self.rows.as_mut_slice().chunks_exact_mut(vectors.dim()).zip(ids) {
            place.copy_from_slice(vectors.row(id as usize));
            if !distance.extra.is_empty() {
                self.extra.push(distance.extra[id as usize]);
            }
        }
    }

    /// The pairs of the gathered rows.
    pub fn pairs<'a>(&'a self, distance: &'a BuildDistance<T>) -> impl crate::Pairs + 'a {
        GatheredPairs { gathered: self, distance }
    }
}

struct GatheredPairs<'a, T: Element> {
    gathered: &'a Gathered<T>,
    distance: &'a BuildDistance<T>,
}

impl<T: Element> crate::Pairs for GatheredPairs<'_, T> {
    #[inline]
    fn distances(&mut self, from: u32, to: &[u32], out: &mut [f32]) {
        let rows = &self.gathered.rows;
        self.distance.kernel.to_gathered(rows.row(from as usize), rows, to, &mut out[..to.len()]);
        if let Some(&own) = self.gathered.extra.get(from as usize) {
            for (&position, out) in to.iter().zip(out) {
                *out += (own - self.gathered.extra[position as usize]).powi(2);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Pairs;

    #[test]
    fn the_inner_product_becomes_a_distance_that_orders_the_same() {
        let rows = [0.1f32, 0.0, 3.0, 4.0, -10.0, 0.0, 0.0, 0.0, 3.0, 4.0];
        let vectors = Matrix::from_rows(&rows, 2);
        let distance = BuildDistance::new(Metric::InnerProduct, &vectors);
        let dot = |a: usize, b: usize| -> f32 {
            vectors.row(a).iter().zip(vectors.row(b)).map(|(x, y)| x * y).sum()
        };
        for a in 0..5 {
            for b in 0..5 {
                let expected =
                    200.0 - 2.0 * dot(a, b) - 2.0 * distance.extra(a as u32) * distance.extra(b as u32);
                assert!((distance.between(&vectors, a as u32, b as u32) - expected).abs() < 1e-3, "{a} {b}");
            }
            assert_eq!(distance.between(&vectors, a as u32, a as u32), 0.0);
        }
        assert_eq!(distance.between(&vectors, 1, 4), 0.0, "equal rows are at distance 0");
        assert_eq!(distance.extra(2), 0.0, "the longest vector needs no extra component");
    }

    #[test]
    fn gathered_pairs_are_the_distances_of_the_rows() {
        let rows: Vec<f32> = (0..60).map(|i| ((i * 7919) % 31) as f32 - 15.0).collect();
        let vectors = Matrix::from_rows(&rows, 5);
        for metric in Metric::ALL {
            let distance = BuildDistance::new(metric, &vectors);
            let mut gathered = Gathered::empty();
            let ids = [7u32, 3, 11, 0];
            gathered.gather(&vectors, &distance, ids.iter().copied());
            let mut found = [0.0; 3];
            gathered.pairs(&distance).distances(1, &[0, 3, 2], &mut found);
            let mut rows = [0.0; 3];
            distance.to_rows(&vectors, 3, &[7, 0, 11], &mut rows);
            assert_eq!(found, [7, 0, 11].map(|id| distance.between(&vectors, 3, id)));
            assert_eq!(found, rows);
        }
    }
}

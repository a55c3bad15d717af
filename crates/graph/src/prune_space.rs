//! The one space that updates prune in. A list is pruned with what is at hand: whole vectors, decoded codes, or both;
//! embedded here they are all rows of f32 whose squared Euclidean distance obeys what occlusion relies on.

use crate::Pairs;
use gleann_vector::{Distance, Element, Matrix, Metric};

/// How vectors of a metric become points whose squared L2 distance orders as the metric does.
///
/// * L2: the components as they are.
/// * Cosine: the normalised vector; a zero vector stays zero.
/// * Inner product: one more component, √(max(0, M² − |x|²)) with M the largest norm known when the index was made
///   (see [`crate::BuildDistance`]). A vector longer than M gets 0 there: it is farther from others than it ought to be
///   by what it is too long, and nothing else is lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PruneSpace {
    metric: Metric,
    dim: usize,
    max_norm: f32,
}

impl PruneSpace {
    /// The space of vectors of `dim` components under `metric`. Only the inner product looks at `max_norm`.
    pub fn new(metric: Metric, dim: usize, max_norm: f32) -> Self {
        Self { metric, dim, max_norm }
    }

    /// The metric.
    pub fn metric(&self) -> Metric {
        self.metric
    }

    /// Components of a vector.
    pub fn dim(&self) -> usize {
        self.dim
    }

    /// Components of an embedded vector: [`PruneSpace::dim`], and one more for the inner product.
    pub fn width(&self) -> usize {
        self.dim + usize::from(self.metric == Metric::InnerProduct)
    }

    /// Writes the point that `vector` becomes.
    ///
    /// # Panics
    /// If `vector` has not [`PruneSpace::dim`] elements or `out` not [`PruneSpace::width`] places.
    pub fn embed<T: Element>(&self, vector: &[T], out: &mut [f32]) {
        assert_eq!(out.len(), self.width(), "places for a point of another width");
        let (components, extra) = out.split_at_mut(self.dim);
        widen(vector, components);
        let own = self.settle(components);
        extra.fill(own);
    }

    /// The extra component of `vector`: 0 but for the inner product.
    ///
    /// # Panics
    /// If `vector` has not [`PruneSpace::dim`] elements.
    pub fn extra<T: Element>(&self, vector: &[T]) -> f32 {
        assert_eq!(vector.len(), self.dim, "a vector of another dimension");
        if self.metric == Metric::InnerProduct { self.missing(squared_norm(vector)) } else { 0.0 }
    }

    /// Turns components into those of the point, and gives its extra component.
    fn settle(&self, row: &mut [f32]) -> f32 {
        match self.metric {
            Metric::L2 => 0.0,
            Metric::InnerProduct => self.missing(squared_norm(row)),
            Metric::Cosine => {
                let square = squared_norm(row);
                if square > 0.0 {
                    let scale = square.sqrt().recip();
                    row.iter_mut().for_each(|x| *x = (f64::from(*x) * scale) as f32);
                }
                0.0
            }
        }
    }

    fn missing(&self, square: f64) -> f32 {
        (f64::from(self.max_norm).powi(2) - square).max(0.0).sqrt() as f32
    }
}

fn widen<T: Element>(vector: &[T], out: &mut [f32]) {
    assert_eq!(vector.len(), out.len(), "a vector of another dimension");
    out.iter_mut().zip(vector).for_each(|(out, x)| *out = x.to_f32());
}

/// |x|², in several sums so that no addition waits for the one before.
fn squared_norm<T: Element>(vector: &[T]) -> f64 {
    let (blocks, rest) = vector.as_chunks::<8>();
    let square = |x: &T| f64::from(x.to_f32()).powi(2);
    let mut sums = [0.0f64; 8];
    for block in blocks {
        sums.iter_mut().zip(block).for_each(|(sum, x)| *sum += square(x));
    }
    sums.iter().sum::<f64>() + rest.iter().map(square).sum::<f64>()
}

/// Points of a [`PruneSpace`], side by side, for prunes that speak of them by position. Allocates only to grow.
///
/// For decoded codes this is much faster than tables of the distances between the centroids of each chunk: with 128
/// dimensions in 32 chunks a pair takes 8 to 11 ns here and 55 to 90 ns with 8 MiB of tables, and decoding a row, 45 to
/// 200 ns depending on what the caches hold, is paid back by its third comparison.
#[derive(Debug)]
pub struct EmbeddedRows {
    space: PruneSpace,
    kernel: Distance<f32>,
    /// Places for points; the first `len` are in use.
    rows: Matrix<f32>,
    len: usize,
    /// Extra components, kept apart so that rows keep the stride the kernels like; empty but for the inner product.
    extra: Vec<f32>,
}

const FIRST_ROWS: usize = 64;

impl EmbeddedRows {
    /// No points of `space` yet.
    ///
    /// # Panics
    /// If the space has more dimensions than a [`Distance`] takes.
    pub fn new(space: PruneSpace) -> Self {
        let kernel = Distance::new(Metric::L2, space.dim);
        Self { space, kernel, rows: Matrix::zeroed(0, space.dim), len: 0, extra: Vec::new() }
    }

    /// The space.
    pub fn space(&self) -> &PruneSpace {
        &self.space
    }

    /// Forgets the points, keeps the memory.
    pub fn clear(&mut self) {
        self.len = 0;
        self.extra.clear();
    }

    /// Adds the point of `vector`.
    ///
    /// # Panics
    /// If `vector` has another dimension than the space.
    pub fn push<T: Element>(&mut self, vector: &[T]) {
        self.push_with(|row| widen(vector, row));
    }

    /// Adds the point of the vector that `fill` writes, all components of it: a code is decoded where it is to be.
    pub fn push_with(&mut self, fill: impl FnOnce(&mut [f32])) {
        if self.len == self.rows.rows() {
            self.grow();
        }
        let row = self.rows.row_mut(self.len);
        fill(row);
        let extra = self.space.settle(row);
        if self.space.metric == Metric::InnerProduct {
            self.extra.push(extra);
        }
        self.len += 1;
    }

    #[cold]
    fn grow(&mut self) {
        let mut larger = Matrix::zeroed((self.len * 2).max(FIRST_ROWS), self.space.dim);
        let kept = self.rows.as_slice();
        larger.as_mut_slice()[..kept.len()].copy_from_slice(kept);
        self.rows = larger;
    }

    /// Number of points.
    pub fn rows(&self) -> usize {
        self.len
    }

    /// Squared distance between the points at two positions.
    ///
    /// # Panics
    /// If there is no such position.
    #[inline]
    pub fn distance(&self, from: u32, to: u32) -> f32 {
        let mut distance = [0.0];
        self.distances(from, &[to], &mut distance);
        distance[0]
    }

    /// Squared distances from the point at position `from` to those at `to`, into the first `to.len()` places of `out`.
    ///
    /// # Panics
    /// If there is no such position.
    #[inline]
    pub fn distances(&self, from: u32, to: &[u32], out: &mut [f32]) {
        debug_assert!(to.iter().all(|&position| (position as usize) < self.len));
        self.kernel.to_gathered(self.rows.row(from as usize), &self.rows, to, &mut out[..to.len()]);
        if let Some(&own) = self.extra.get(from as usize) {
            for (&position, out) in to.iter().zip(out) {
                *out += (own - self.extra[position as usize]).powi(2);
            }
        }
    }

    /// The pairs of a pool whose position `i` is the point at `order[i]`: points are embedded as they are met, a prune
    /// sorts its pool.
    pub fn pairs_in<'a>(&'a self, order: &'a [u32]) -> impl Pairs + 'a {
        OrderedPairs { rows: self, order }
    }
}

struct OrderedPairs<'a> {
    rows: &'a EmbeddedRows,
    order: &'a [u32],
}

const BATCH: usize = 64;

impl Pairs for OrderedPairs<'_> {
    fn distances(&mut self, from: u32, to: &[u32], out: &mut [f32]) {
        let mut places = [0u32; BATCH];
        for (to, out) in to.chunks(BATCH).zip(out.chunks_mut(BATCH)) {
            for (place, &position) in places.iter_mut().zip(to) {
                *place = self.order[position as usize];
            }
            self.rows.distances(self.order[from as usize], &places[..to.len()], out);
        }
    }
}

impl Pairs for EmbeddedRows {
    #[inline]
    fn distances(&mut self, from: u32, to: &[u32], out: &mut [f32]) {
        EmbeddedRows::distances(self, from, to, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BuildDistance;

    fn numbers(n: usize) -> Vec<f32> {
        (0..n).map(|i| ((i * 7919) % 31) as f32 - 15.0).collect()
    }

    fn squared(a: &[f32], b: &[f32]) -> f32 {
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum()
    }

    #[test]
    fn points_are_as_far_apart_as_a_build_sees_their_vectors() {
        let vectors = Matrix::from_rows(&numbers(170 * 19), 19);
        let norm = |row: usize| vectors.row(row).iter().map(|x| x * x).sum::<f32>().sqrt();
        let max_norm = (0..170).map(norm).fold(0.0, f32::max);
        for metric in Metric::ALL {
            let space = PruneSpace::new(metric, 19, max_norm);
            let build = BuildDistance::new(metric, &vectors);
            let mut rows = EmbeddedRows::new(space);
            for round in 0..2 {
                rows.clear();
                (0..170).for_each(|row| rows.push(vectors.row(row)));
                assert_eq!(rows.rows(), 170, "round {round}");
            }
            let mut points = vec![[0.0f32; 20]; 170];
            for (row, point) in points.iter_mut().enumerate() {
                space.embed(vectors.row(row), &mut point[..space.width()]);
            }
            for (a, b) in [(0u32, 169u32), (3, 3), (80, 12), (169, 64)] {
                let expected = build.between(&vectors, a, b);
                let near = |x: f32| (x - expected).abs() <= 1e-4 * expected.abs().max(1.0);
                assert!(near(rows.distance(a, b)), "{metric}: {} {expected}", rows.distance(a, b));
                assert!(near(squared(&points[a as usize], &points[b as usize])), "{metric}");
            }
            let mut out = [0.0; 3];
            Pairs::distances(&mut rows, 7, &[9, 7, 100], &mut out);
            assert_eq!(out, [9, 7, 100].map(|to| rows.distance(7, to)));
            assert_eq!(out[1], 0.0);
            let order: Vec<u32> = (0..170).rev().collect();
            let mut all = [0.0; 170];
            rows.pairs_in(&order).distances(2, &order, &mut all);
            assert!((0..170).all(|to| all[to as usize] == rows.distance(167, to)));
        }
    }

    #[test]
    fn zero_long_and_narrow_vectors_have_their_points() {
        let mut point = [9.0; 2];
        PruneSpace::new(Metric::Cosine, 2, 0.0).embed(&[0.0f32; 2], &mut point);
        assert_eq!(point, [0.0; 2]);
        PruneSpace::new(Metric::Cosine, 2, 0.0).embed(&[3u8, 4], &mut point);
        assert_eq!(point, [0.6, 0.8]);
        let product = PruneSpace::new(Metric::InnerProduct, 2, 5.0);
        let mut point = [9.0; 3];
        product.embed(&[30i8, 40], &mut point);
        assert_eq!(point, [30.0, 40.0, 0.0], "longer than any vector before");
        product.embed(&[3i8, 0], &mut point);
        assert_eq!((point, product.extra(&[3i8, 0])), ([3.0, 0.0, 4.0], 4.0));
        assert_eq!(PruneSpace::new(Metric::L2, 2, 5.0).extra(&[3i8, 0]), 0.0);
        product.embed(&[1e30f32, 0.0], &mut point);
        assert_eq!(point, [1e30, 0.0, 0.0]);
        PruneSpace::new(Metric::Cosine, 2, 0.0).embed(&[1e30f32, 0.0], &mut point[..2]);
        assert_eq!(point[..2], [1.0, 0.0], "squares beyond f32");
    }

    #[test]
    fn the_widest_vectors_fit() {
        let mut rows =
            EmbeddedRows::new(PruneSpace::new(Metric::InnerProduct, gleann_vector::MAX_DIM, 100.0));
        rows.push(&vec![1u8; gleann_vector::MAX_DIM]);
        rows.push_with(|row| row.fill(0.0));
        assert!(
            (rows.distance(0, 1) - (8192.0 + (100.0 - (10_000.0f32 - 8192.0).sqrt()).powi(2))).abs() < 1.0
        );
    }
}

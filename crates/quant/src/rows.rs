//! From rows as users have them to rows as the kernels read them: clamped, normalised for cosine, less the mean, and
//! transposed into blocks of sixteen.

use crate::simd::{LANES, Lane};
use gleann_vector::{Element, Metric};

/// Largest magnitude of a component that is taken as it is. Larger ones are clamped here (and refused in training):
/// with 8192 dimensions every squared distance and every product then stays finite in f32.
pub(crate) const LIMIT: f32 = 1e16;

/// Clamped to ±[`LIMIT`]; NaN becomes −[`LIMIT`], so nothing behind this point meets one.
#[inline(always)]
#[allow(clippy::manual_clamp, reason = "clamp lets NaN through")]
pub(crate) fn tame(value: f32) -> f32 {
    value.max(-LIMIT).min(LIMIT)
}

/// What a component is multiplied with under cosine, from the row's squared norm; zero rows stay zero.
#[inline(always)]
fn unit_scale(squared_norm: f32) -> f32 {
    if squared_norm > 0.0 { 1.0 / squared_norm.sqrt() } else { 0.0 }
}

/// The factor that `metric` asks for: 1, or the reciprocal norm of `row` under cosine.
pub(crate) fn row_scale(metric: Metric, row: &[f32]) -> f32 {
    match metric {
        Metric::L2 | Metric::InnerProduct => 1.0,
        Metric::Cosine => unit_scale(row.iter().map(|&x| tame(x) * tame(x)).sum()),
    }
}

/// Transposes at most sixteen row-major `rows` into one lane a component; missing rows are zeros.
pub(crate) fn transpose<T: Element>(rows: &[T], dim: usize, block: &mut [Lane]) {
    if rows.len() < LANES * dim {
        block.fill(Lane::ZERO);
    }
    for (lane, row) in rows.chunks_exact(dim).enumerate() {
        for (into, value) in block.iter_mut().zip(row) {
            into.0[lane] = tame(value.to_f32());
        }
    }
}

/// Normalises the rows of a block for cosine (the same bits as [`row_scale`]) and subtracts `mean`.
pub(crate) fn centre(metric: Metric, mean: &[f32], block: &mut [Lane]) {
    let mut scale = Lane([1.0; LANES]);
    if metric == Metric::Cosine {
        let mut squares = Lane::ZERO;
        for x in block.iter() {
            for (sum, &value) in squares.0.iter_mut().zip(&x.0) {
                *sum += value * value;
            }
        }
        scale = Lane(squares.0.map(unit_scale));
    }
    for (x, &mean) in block.iter_mut().zip(mean) {
        for (value, &scale) in x.0.iter_mut().zip(&scale.0) {
            *value = *value * scale - mean;
        }
    }
}

/// Rows in blocks of sixteen; the last block is filled up with zeros.
#[derive(Debug)]
pub(crate) struct RowBlocks {
    lanes: Vec<Lane>,
    rows: usize,
    dim: usize,
}

impl RowBlocks {
    /// Blocks of `rows` rows of `dim` (≥ 1) components; `component(row, d)` gives the values.
    pub(crate) fn from_fn(rows: usize, dim: usize, component: impl Fn(usize, usize) -> f32) -> Self {
        let mut lanes = vec![Lane::ZERO; rows.div_ceil(LANES) * dim];
        for row in 0..rows {
            let block = &mut lanes[row / LANES * dim..][..dim];
            for (d, lane) in block.iter_mut().enumerate() {
                lane.0[row % LANES] = component(row, d);
            }
        }
        Self { lanes, rows, dim }
    }

    /// Number of rows.
    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    /// Components a row.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// Number of blocks.
    pub(crate) fn blocks(&self) -> usize {
        self.lanes.len() / self.dim
    }

    /// All blocks, [`RowBlocks::dim`] lanes each.
    pub(crate) fn lanes(&self) -> &[Lane] {
        &self.lanes
    }

    /// The components of `row`.
    pub(crate) fn row(&self, row: usize) -> impl Iterator<Item = f32> + '_ {
        self.lanes[row / LANES * self.dim..][..self.dim].iter().map(move |lane| lane.0[row % LANES])
    }
}

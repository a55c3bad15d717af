//! The arithmetic of this crate, written once over [`Simd`] and compiled once for each instruction set; the path is
//! chosen at run time, as for distances.

#[cfg(target_arch = "x86_64")]
use crate::simd::{Avx2, Avx512};
use crate::simd::{LANES, Lane, Plain, Simd};
use gleann_vector::CpuPath;

/// Centroids a kernel compares at once; sets of centroids are padded to a multiple.
const GROUP: usize = 4;

/// Centroids of a chunk in a distance table, whether they are used or not: a code of one byte needs no bound check.
pub(crate) const TABLE_WIDTH: usize = 256;

/// [`TABLE_WIDTH`] values.
pub(crate) type TableRow = [Lane; TABLE_WIDTH / LANES];

/// Compiles `$body`, an `inline(always)` function over [`Simd`], for every path and makes `$name` choose among them.
macro_rules! for_every_path {
    ($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $body:ident) => {
        $(#[$doc])*
        pub(crate) fn $name(path: CpuPath, $($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f")]
            fn avx512($($arg: $ty),*) $(-> $ret)? { $body::<Avx512>($($arg),*) }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2")]
            fn avx2($($arg: $ty),*) $(-> $ret)? { $body::<Avx2>($($arg),*) }
            match path {
                // SAFETY: callers pass `cpu_path()`, or in tests a path that is available: the processor has it.
                #[cfg(target_arch = "x86_64")]
                CpuPath::Avx512 => unsafe { avx512($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                CpuPath::Avx2 => unsafe { avx2($($arg),*) },
                _ => $body::<Plain>($($arg),*),
            }
        }
    };
}

/// Centroids as the kernels read them: row-major, padded to a multiple of [`GROUP`] with centroids that are never
/// nearest.
#[derive(Debug)]
pub(crate) struct CentroidSet {
    rows: Vec<f32>,
    half_norms: Vec<f32>,
    dim: usize,
    count: usize,
}

impl CentroidSet {
    /// Takes row-major centroids of `dim` (≥ 1) components.
    pub(crate) fn new(mut rows: Vec<f32>, dim: usize) -> Self {
        let count = rows.len() / dim;
        let padded = count.next_multiple_of(GROUP);
        let mut half_norms: Vec<f32> =
            rows.chunks_exact(dim).map(|row| 0.5 * row.iter().map(|x| x * x).sum::<f32>()).collect();
        half_norms.resize(padded, f32::INFINITY);
        rows.resize(padded * dim, 0.0);
        Self { rows, half_norms, dim, count }
    }

    /// Number of centroids.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Components a centroid.
    pub(crate) fn dim(&self) -> usize {
        self.dim
    }

    /// The centroids, row-major, without padding.
    pub(crate) fn rows(&self) -> &[f32] {
        &self.rows[..self.count * self.dim]
    }

    /// Centroids and half squared norms, [`GROUP`] at a time.
    #[inline(always)]
    fn groups(&self) -> impl Iterator<Item = (&[f32], &[f32; GROUP])> {
        self.rows.chunks_exact(GROUP * self.dim).zip(self.half_norms.as_chunks().0)
    }
}

/// `½‖c‖² − x·c` for [`GROUP`] centroids: half the squared distance less a part that is the same for all.
#[inline(always)]
fn group_scores<S: Simd>(block: &[Lane], centroids: &[f32], half_norms: &[f32; GROUP]) -> [S; GROUP] {
    let (first, rest) = centroids.split_at(block.len());
    let (second, rest) = rest.split_at(block.len());
    let (third, fourth) = rest.split_at(block.len());
    let mut dots = [S::splat(0.0); GROUP];
    for ((((x, &a), &b), &c), &d) in block.iter().zip(first).zip(second).zip(third).zip(fourth) {
        let x = S::load(x);
        dots[0] = dots[0].add(x.mul(S::splat(a)));
        dots[1] = dots[1].add(x.mul(S::splat(b)));
        dots[2] = dots[2].add(x.mul(S::splat(c)));
        dots[3] = dots[3].add(x.mul(S::splat(d)));
    }
    [
        S::splat(half_norms[0]).sub(dots[0]),
        S::splat(half_norms[1]).sub(dots[1]),
        S::splat(half_norms[2]).sub(dots[2]),
        S::splat(half_norms[3]).sub(dots[3]),
    ]
}

/// Scores with the numbers of the centroids they belong to.
type Scored<S> = (S, <S as Simd>::Ids);

/// The lower score of each lane, `earlier` where both are equal.
#[inline(always)]
fn lower<S: Simd>(earlier: Scored<S>, later: Scored<S>) -> Scored<S> {
    let mask = later.0.less(earlier.0);
    (S::select(mask, later.0, earlier.0), S::select_ids(mask, later.1, earlier.1))
}

#[inline(always)]
fn nearest<S: Simd>(blocks: &[Lane], set: &CentroidSet, ids: &mut [[u32; LANES]]) {
    for (block, out) in blocks.chunks_exact(set.dim).zip(ids) {
        let mut best = (S::splat(f32::INFINITY), S::splat_id(0));
        for (group, (centroids, half_norms)) in set.groups().enumerate() {
            let scores = group_scores::<S>(block, centroids, half_norms);
            let scored = |j: usize| (scores[j], S::splat_id((group * GROUP + j) as u32));
            // A tournament, so that only one comparison in four waits for the one before.
            let winner = lower(lower(scored(0), scored(1)), lower(scored(2), scored(3)));
            best = lower(best, winner);
        }
        *out = S::store_ids(best.1);
    }
}

for_every_path! {
    /// The nearest centroid of every row of `blocks`, the lowest of equally near ones.
    fn nearest_in_blocks(blocks: &[Lane], set: &CentroidSet, ids: &mut [[u32; LANES]]) = nearest
}

#[inline(always)]
fn nearest_two<S: Simd>(blocks: &[Lane], set: &CentroidSet, ids: &mut [[[u32; LANES]; 2]]) {
    for (block, out) in blocks.chunks_exact(set.dim).zip(ids) {
        let (mut best, mut nearest) = ([S::splat(f32::INFINITY); 2], [S::splat_id(0); 2]);
        let mut number = 0;
        for (centroids, half_norms) in set.groups() {
            for score in group_scores::<S>(block, centroids, half_norms) {
                let id = S::splat_id(number);
                let (first, second) = (score.less(best[0]), score.less(best[1]));
                let other = (S::select(second, score, best[1]), S::select_ids(second, id, nearest[1]));
                best[1] = S::select(first, best[0], other.0);
                nearest[1] = S::select_ids(first, nearest[0], other.1);
                best[0] = S::select(first, score, best[0]);
                nearest[0] = S::select_ids(first, id, nearest[0]);
                number += 1;
            }
        }
        *out = nearest.map(S::store_ids);
    }
}

for_every_path! {
    /// The nearest and the second nearest centroid of every row of `blocks`; of equally near ones the lower first.
    /// With a single centroid both are it.
    fn nearest_two_in_blocks(blocks: &[Lane], set: &CentroidSet, ids: &mut [[[u32; LANES]; 2]]) = nearest_two
}

#[inline(always)]
fn shrink<S: Simd>(blocks: &[Lane], centroid: &[f32], distances: &mut [Lane]) -> f64 {
    let mut sums = S::splat(0.0);
    for (block, least) in blocks.chunks_exact(centroid.len()).zip(distances) {
        let mut squares = S::splat(0.0);
        for (x, &c) in block.iter().zip(centroid) {
            let difference = S::load(x).sub(S::splat(c));
            squares = squares.add(difference.mul(difference));
        }
        let old = S::load(least);
        let new = S::select(squares.less(old), squares, old);
        sums = sums.add(new);
        *least = new.store();
    }
    sums.store().0.iter().map(|&sum| f64::from(sum)).sum()
}

for_every_path! {
    /// Lowers every row's squared `distances` to that to `centroid` where it is nearer; returns their sum.
    fn shrink_distances(blocks: &[Lane], centroid: &[f32], distances: &mut [Lane]) -> f64 = shrink
}

/// Lanes of a table row summed in registers at a time.
const STRIP: usize = 4;

#[inline(always)]
fn fill<S: Simd>(planes: &[TableRow], query: &[f32], squared: bool, table: &mut TableRow) {
    for (strip, out) in table.as_chunks_mut::<STRIP>().0.iter_mut().enumerate() {
        let mut sums = [S::splat(0.0); STRIP];
        for (plane, &q) in planes.iter().zip(query) {
            let components = &plane.as_chunks::<STRIP>().0[strip];
            let q = S::splat(q);
            for (sum, component) in sums.iter_mut().zip(components) {
                let c = S::load(component);
                let term = if squared { q.sub(c).mul(q.sub(c)) } else { q.mul(c) };
                *sum = sum.add(term);
            }
        }
        *out = sums.map(S::store);
    }
}

for_every_path! {
    /// Squared distances (or, where not `squared`, products) of the chunk `query` with the centroids that `planes`
    /// holds component by component.
    fn fill_chunk(planes: &[TableRow], query: &[f32], squared: bool, table: &mut TableRow) = fill
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_pcg::Pcg64;
    use rand_pcg::rand_core::{Rng, SeedableRng};

    fn values(count: usize, seed: u64) -> Vec<f32> {
        let mut random = Pcg64::seed_from_u64(seed);
        // Coarse, so that ties happen.
        (0..count).map(|_| (random.next_u64() >> 59) as f32 / 4.0 - 3.0).collect()
    }

    fn lanes(count: usize, seed: u64) -> Vec<Lane> {
        values(count * LANES, seed).as_chunks().0.iter().map(|&chunk| Lane(chunk)).collect()
    }

    /// The scalar oracle of [`group_scores`], operation by operation.
    fn score(block: &[Lane], lane: usize, centroid: &[f32]) -> f32 {
        let dot = block.iter().zip(centroid).fold(0.0, |sum, (x, c)| sum + x.0[lane] * c);
        0.5 * centroid.iter().map(|x| x * x).sum::<f32>() - dot
    }

    #[test]
    fn every_path_finds_the_two_nearest_lowest_first() {
        for (dim, count) in [(1, 1), (1, 9), (2, 256), (3, 57), (4, 256), (5, 2), (8, 64), (33, 7), (200, 10)]
        {
            let blocks = lanes(3 * dim, dim as u64);
            let set = CentroidSet::new(values(count * dim, 77), dim);
            for path in CpuPath::ALL.into_iter().filter(|path| path.available()) {
                let (mut one, mut two) = (vec![[9; LANES]; 3], vec![[[9; LANES]; 2]; 3]);
                nearest_in_blocks(path, &blocks, &set, &mut one);
                nearest_two_in_blocks(path, &blocks, &set, &mut two);
                for (block, (one, two)) in blocks.chunks(dim).zip(one.iter().zip(&two)) {
                    for lane in 0..LANES {
                        let mut order: Vec<u32> = (0..count as u32).collect();
                        let of = |id: &u32| score(block, lane, &set.rows()[*id as usize * dim..][..dim]);
                        order.sort_by(|a, b| of(a).total_cmp(&of(b)));
                        let second = order[1.min(count - 1)];
                        assert_eq!(
                            (one[lane], two[0][lane], two[1][lane]),
                            (order[0], order[0], second),
                            "{path:?}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn every_path_gives_the_bits_of_plain_arithmetic() {
        for dim in [1, 2, 4, 7, 32] {
            let (blocks, centroid) = (lanes(5 * dim, 3), values(dim, 4));
            let planes: Vec<TableRow> = lanes(16 * dim, 5).as_chunks().0.to_vec();
            for path in CpuPath::ALL.into_iter().filter(|path| path.available()) {
                let mut distances = vec![Lane([40.0; LANES]); 5];
                let sum = shrink_distances(path, &blocks, &centroid, &mut distances);
                for (block, found) in blocks.chunks(dim).zip(&distances) {
                    for lane in 0..LANES {
                        let terms =
                            block.iter().zip(&centroid).map(|(x, c)| (x.0[lane] - c) * (x.0[lane] - c));
                        assert_eq!(
                            found.0[lane],
                            terms.fold(0.0, |sum, term| sum + term).min(40.0),
                            "{path:?}"
                        );
                    }
                }
                let columns = (0..LANES).map(|lane| distances.iter().fold(0.0, |sum, d| sum + d.0[lane]));
                assert_eq!(sum, columns.map(f64::from).sum::<f64>(), "{path:?}");
                for squared in [false, true] {
                    let mut table = [Lane::ZERO; TABLE_WIDTH / LANES];
                    fill_chunk(path, &planes, &centroid, squared, &mut table);
                    for id in 0..TABLE_WIDTH {
                        let terms = planes.iter().zip(&centroid).map(|(plane, q)| {
                            let c = plane[id / LANES].0[id % LANES];
                            if squared { (q - c) * (q - c) } else { q * c }
                        });
                        let expected = terms.fold(0.0, |sum, term| sum + term);
                        assert_eq!(table[id / LANES].0[id % LANES], expected, "{path:?}");
                    }
                }
            }
        }
    }
}

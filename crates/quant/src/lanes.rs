//! The arithmetic of this crate, written once over lanes (one component of sixteen rows or sixteen centroids side by
//! side) and compiled once for each instruction set. Products and sums are separate and in a fixed order, so every
//! path gives the same bits; the path is chosen at run time.
//!
//! Plain loops over `[f32; 16]` are what the compiler turns into vector code on every architecture: no intrinsics.

/// Rows side by side in a [`Lane`].
pub(crate) const LANES: usize = 16;

/// Centroids a kernel compares at once; sets of centroids are padded to a multiple.
pub(crate) const GROUP: usize = 4;

/// One component of sixteen rows.
#[derive(Debug, Clone, Copy, PartialEq)]
#[repr(C, align(64))]
pub(crate) struct Lane(pub [f32; LANES]);

impl Lane {
    pub(crate) const ZERO: Lane = Lane([0.0; LANES]);
}

/// The instruction set the kernels run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Path {
    /// What the target guarantees: SSE2, NEON.
    Baseline,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Path {
    /// The paths of this processor, best last.
    pub(crate) fn available() -> impl Iterator<Item = Path> {
        #[cfg(target_arch = "x86_64")]
        let wide = [
            (Path::Avx2, std::arch::is_x86_feature_detected!("avx2")),
            (Path::Avx512, std::arch::is_x86_feature_detected!("avx512f")),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let wide: [(Path, bool); 0] = [];
        std::iter::once(Path::Baseline).chain(wide.into_iter().filter(|&(_, has)| has).map(|(path, _)| path))
    }

    /// The best path of this processor.
    pub(crate) fn best() -> Path {
        Self::available().last().unwrap_or(Path::Baseline)
    }
}

/// Compiles `$body`, an `inline(always)` function, for every path and makes `$name` choose among them.
macro_rules! for_every_path {
    ($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? = $body:path) => {
        $(#[$doc])*
        pub(crate) fn $name(path: Path, $($arg: $ty),*) $(-> $ret)? {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f")]
                fn avx512($($arg: $ty),*) $(-> $ret)? { $body($($arg),*) }
                #[target_feature(enable = "avx2")]
                fn avx2($($arg: $ty),*) $(-> $ret)? { $body($($arg),*) }
                match path {
                    // SAFETY: `Path::available` gives this path only where the processor has it.
                    Path::Avx512 => return unsafe { avx512($($arg),*) },
                    // SAFETY: as above.
                    Path::Avx2 => return unsafe { avx2($($arg),*) },
                    Path::Baseline => {}
                }
            }
            let _ = path;
            $body($($arg),*)
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
}

/// `½‖c‖² − x·c` for [`GROUP`] centroids: half the squared distance less a part that is the same for all.
#[inline(always)]
fn group_scores(block: &[Lane], centroids: &[f32], half_norms: &[f32]) -> [Lane; GROUP] {
    let dim = block.len();
    let rows: [&[f32]; GROUP] = std::array::from_fn(|j| &centroids[j * dim..][..dim]);
    let mut dots = [Lane::ZERO; GROUP];
    for (d, x) in block.iter().enumerate() {
        for (dot, row) in dots.iter_mut().zip(rows) {
            let c = row[d];
            for (sum, &value) in dot.0.iter_mut().zip(&x.0) {
                *sum += value * c;
            }
        }
    }
    for (dot, &half) in dots.iter_mut().zip(half_norms) {
        for score in &mut dot.0 {
            *score = half - *score;
        }
    }
    dots
}

#[inline(always)]
fn nearest_body(blocks: &[Lane], set: &CentroidSet, ids: &mut [[u32; LANES]]) {
    for (block, out) in blocks.chunks_exact(set.dim).zip(ids) {
        let (mut best, mut nearest) = ([f32::INFINITY; LANES], [0u32; LANES]);
        let mut id = 0;
        for (rows, halves) in set.rows.chunks_exact(GROUP * set.dim).zip(set.half_norms.chunks_exact(GROUP)) {
            for scores in group_scores(block, rows, halves) {
                for lane in 0..LANES {
                    let nearer = scores.0[lane] < best[lane];
                    best[lane] = if nearer { scores.0[lane] } else { best[lane] };
                    nearest[lane] = if nearer { id } else { nearest[lane] };
                }
                id += 1;
            }
        }
        *out = nearest;
    }
}

for_every_path! {
    /// The nearest centroid of every row of `blocks`, the lowest of equally near ones.
    fn nearest_in_blocks(blocks: &[Lane], set: &CentroidSet, ids: &mut [[u32; LANES]]) = nearest_body
}

#[inline(always)]
fn nearest_two_body(blocks: &[Lane], set: &CentroidSet, ids: &mut [[[u32; LANES]; 2]]) {
    for (block, out) in blocks.chunks_exact(set.dim).zip(ids) {
        let (mut best, mut nearest) = ([[f32::INFINITY; LANES]; 2], [[0u32; LANES]; 2]);
        let mut id = 0;
        for (rows, halves) in set.rows.chunks_exact(GROUP * set.dim).zip(set.half_norms.chunks_exact(GROUP)) {
            for scores in group_scores(block, rows, halves) {
                for lane in 0..LANES {
                    let score = scores.0[lane];
                    let (first, second) = (score < best[0][lane], score < best[1][lane]);
                    let (kept, kept_id) =
                        if second { (score, id) } else { (best[1][lane], nearest[1][lane]) };
                    best[1][lane] = if first { best[0][lane] } else { kept };
                    nearest[1][lane] = if first { nearest[0][lane] } else { kept_id };
                    best[0][lane] = if first { score } else { best[0][lane] };
                    nearest[0][lane] = if first { id } else { nearest[0][lane] };
                }
                id += 1;
            }
        }
        *out = nearest;
    }
}

for_every_path! {
    /// The nearest and the second nearest centroid of every row of `blocks`; of equally near ones the lower first.
    /// With a single centroid both are it.
    fn nearest_two_in_blocks(blocks: &[Lane], set: &CentroidSet, ids: &mut [[[u32; LANES]; 2]]) = nearest_two_body
}

#[inline(always)]
fn shrink_body(blocks: &[Lane], centroid: &[f32], distances: &mut [Lane]) -> f64 {
    let mut sums = Lane::ZERO;
    for (block, least) in blocks.chunks_exact(centroid.len()).zip(distances) {
        let mut squares = Lane::ZERO;
        for (x, &c) in block.iter().zip(centroid) {
            for (sum, &value) in squares.0.iter_mut().zip(&x.0) {
                let difference = value - c;
                *sum += difference * difference;
            }
        }
        for lane in 0..LANES {
            least.0[lane] = if squares.0[lane] < least.0[lane] { squares.0[lane] } else { least.0[lane] };
            sums.0[lane] += least.0[lane];
        }
    }
    sums.0.iter().map(|&sum| f64::from(sum)).sum()
}

for_every_path! {
    /// Lowers every row's squared `distances` to that to `centroid` where it is nearer; returns their sum.
    fn shrink_distances(blocks: &[Lane], centroid: &[f32], distances: &mut [Lane]) -> f64 = shrink_body
}

/// Centroids of a chunk in a distance table, whether they are used or not: a code of one byte needs no bound check.
pub(crate) const TABLE_WIDTH: usize = 256;

/// Entries summed in registers at a time.
const STRIP: usize = 4 * LANES;

#[inline(always)]
fn fill_body(planes: &[f32], query: &[f32], squared: bool, table: &mut [f32; TABLE_WIDTH]) {
    for (strip, out) in table.chunks_exact_mut(STRIP).enumerate() {
        let mut sums = [0.0f32; STRIP];
        for (plane, &q) in planes.chunks_exact(TABLE_WIDTH).zip(query) {
            let components = &plane[strip * STRIP..][..STRIP];
            if squared {
                for (sum, &c) in sums.iter_mut().zip(components) {
                    let difference = q - c;
                    *sum += difference * difference;
                }
            } else {
                for (sum, &c) in sums.iter_mut().zip(components) {
                    *sum += q * c;
                }
            }
        }
        out.copy_from_slice(&sums);
    }
}

for_every_path! {
    /// Squared distances (or, where not `squared`, products) of the chunk `query` with the centroids that `planes`
    /// holds component by component.
    fn fill_chunk(planes: &[f32], query: &[f32], squared: bool, table: &mut [f32; TABLE_WIDTH]) = fill_body
}

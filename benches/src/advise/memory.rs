//! What an index takes of memory, by part.

use gleann_vector::ElementType;

/// Centroids of a chunk of the codebook.
const CENTROIDS: u64 = 256;
/// The program itself, and the scratch of its searches.
pub const PROGRAM: u64 = 64 << 20;
/// R of the navigation graph.
const NAVIGATION_DEGREE: u64 = 48;
/// Shares of the vectors that a navigation graph may hold, the most useful first.
const SHARES: [f64; 3] = [0.01, 0.001, 0.0001];
/// Share of the codes' memory beyond which a larger navigation graph is not worth it.
const WORTH: f64 = 0.1;

/// The vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Number of vectors.
    pub rows: u64,
    /// Dimensions.
    pub dim: u32,
    /// Type of an element.
    pub element: ElementType,
}

/// Memory that searches share, by part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Memory {
    /// Bytes of a code; 0: codes are not in memory.
    pub pq_bytes: u32,
    /// Share of the vectors in the navigation graph; 0: there is none.
    pub share: f64,
    /// All of it, in bytes.
    pub bytes: u64,
}

impl Shape {
    /// Bytes of a vector.
    pub fn vector_bytes(&self) -> u64 {
        u64::from(self.dim) * self.element.size() as u64
    }

    /// Bytes of a graph of degree `degree` with its vectors in memory.
    pub fn in_memory(&self, degree: u64) -> u64 {
        self.rows * (self.vector_bytes() + 4 * degree + 8)
    }

    fn codebook(&self) -> u64 {
        CENTROIDS * u64::from(self.dim) * 4
    }

    fn navigation(&self, share: f64, pq_bytes: u32) -> u64 {
        (self.rows as f64 * share).ceil() as u64 * (8 + 4 * NAVIGATION_DEGREE + u64::from(pq_bytes))
    }

    /// Codes that suit the dimension: a quarter of it, at least 32 bytes, at most one a dimension.
    pub fn usual_code(&self) -> u32 {
        (self.dim / 4).next_multiple_of(8).max(32).min(self.dim)
    }

    /// Codes below which estimates lead nowhere: a sixteenth of the dimension, at least 8 bytes.
    fn least_code(&self) -> u32 {
        (self.dim / 16).max(8).min(self.dim)
    }

    /// Codes and navigation graph within `budget` bytes; `None` where not even the shortest codes fit.
    ///
    /// The navigation graph comes first, since a little of it saves many reads (the study's Finding 7), then codes up to
    /// `wanted` bytes.
    pub fn fit(&self, budget: u64, wanted: u32) -> Option<Memory> {
        let fixed = PROGRAM + self.codebook();
        let total = |pq: u32, share: f64| fixed + self.rows * u64::from(pq) + self.navigation(share, pq);
        let smallest = SHARES[SHARES.len() - 1];
        let fits = |pq: &u32| total(*pq, smallest) <= budget;
        let pq_bytes = (self.least_code()..=wanted.max(self.least_code())).rev().find(fits)?;
        let codes = (self.rows * u64::from(pq_bytes)) as f64;
        let worth = |share: &f64| {
            total(pq_bytes, *share) <= budget && self.navigation(*share, pq_bytes) as f64 <= WORTH * codes
        };
        let share = SHARES.into_iter().find(worth).unwrap_or(smallest);
        Some(Memory { pq_bytes, share, bytes: total(pq_bytes, share) })
    }

    /// Memory with the codes in the records.
    pub fn without_codes(&self) -> Memory {
        Memory { pq_bytes: 0, share: 0.0, bytes: PROGRAM + self.codebook() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIFT: Shape = Shape { rows: 100_000_000, dim: 128, element: ElementType::U8 };

    #[test]
    fn codes_and_navigation_share_the_budget() {
        let roomy = SIFT.fit(8 << 30, 32).unwrap();
        assert_eq!((roomy.pq_bytes, roomy.share), (32, 0.01));
        // 3.2 GB of codes, 233 MB of navigation graph, and the program.
        assert!((3_400_000_000..3_600_000_000).contains(&roomy.bytes), "{}", roomy.bytes);
        let tight = SIFT.fit(2 << 30, 32).unwrap();
        assert_eq!(tight.pq_bytes, 20);
        assert!(tight.bytes <= 2 << 30 && tight.share < 0.01);
        assert_eq!(SIFT.fit(512 << 20, 32), None);
        assert!(SIFT.without_codes().bytes < 128 << 20);
    }

    #[test]
    fn codes_suit_the_dimension() {
        let code = |dim| Shape { dim, ..SIFT }.usual_code();
        assert_eq!([code(16), code(96), code(128), code(960), code(1536)], [16, 32, 32, 240, 384]);
        assert_eq!(SIFT.in_memory(64), 100_000_000 * 392);
    }
}

//! Random numbers from a seed, and the shapes that are needed of them.

use rand_pcg::Pcg64Mcg;
use rand_pcg::rand_core::{Rng, SeedableRng};

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Random {
    source: Pcg64Mcg,
    /// The second of a pair of normal numbers.
    spare: Option<f64>,
}

impl Random {
    /// Stream `stream` of those that belong to `seed`.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mixed = seed ^ stream.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self { source: Pcg64Mcg::seed_from_u64(mixed), spare: None }
    }

    /// Uniform in [0, 1).
    pub fn unit(&mut self) -> f64 {
        (self.source.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Normal, mean 0 and standard deviation 1 (Box and Muller).
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare.take() {
            return spare;
        }
        let radius = (-2.0 * (1.0 - self.unit()).ln()).sqrt();
        let (sine, cosine) = (std::f64::consts::TAU * self.unit()).sin_cos();
        self.spare = Some(radius * sine);
        radius * cosine
    }

    /// Lognormal of mean 1; `variation` is its standard deviation.
    pub fn around_one(&mut self, variation: f64) -> f64 {
        if variation <= 0.0 {
            return 1.0;
        }
        let square = (1.0 + variation * variation).ln();
        (square.sqrt() * self.normal() - square / 2.0).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_told_apart_and_come_again() {
        let draw = |stream| Random::new(7, stream).unit();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }

    #[test]
    fn shapes_have_their_moments() {
        let mut random = Random::new(1, 0);
        let drawn: Vec<f64> = (0..100_000).map(|_| random.around_one(0.5)).collect();
        let mean = drawn.iter().sum::<f64>() / 1e5;
        let deviation = (drawn.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 1e5).sqrt();
        assert!((mean - 1.0).abs() < 0.01 && (deviation - 0.5).abs() < 0.02, "{mean} {deviation}");
        assert_eq!(random.around_one(0.0), 1.0);
    }
}

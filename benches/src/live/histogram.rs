//! Distributions of times, for result lines.

use serde::{Deserialize, Serialize};

/// Buckets to a doubling.
const FINENESS: f64 = 4.0;
/// Upper end of the first bucket, in microseconds.
const FIRST_US: f64 = 1.0;

/// How many times fell into buckets whose ends grow by a fourth of a doubling.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Histogram {
    /// Upper end of every bucket, in microseconds; the first begins at 0.
    pub upper_us: Vec<f64>,
    /// Times in it.
    pub count: Vec<u64>,
}

impl Histogram {
    /// The distribution of times in microseconds.
    pub fn of(times_us: impl Iterator<Item = f64>) -> Self {
        let mut count: Vec<u64> = Vec::new();
        for time in times_us {
            let bucket = ((time / FIRST_US).log2() * FINENESS).ceil().max(0.0) as usize;
            if count.len() <= bucket {
                count.resize(bucket + 1, 0);
            }
            count[bucket] += 1;
        }
        // To a hundredth: a result line is read by people too.
        let upper = |bucket: usize| (FIRST_US * 2f64.powf(bucket as f64 / FINENESS) * 100.0).round() / 100.0;
        Self { upper_us: (0..count.len()).map(upper).collect(), count }
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.count.is_empty()
    }

    /// The largest difference between the shares of times below any moment (Kolmogorov and Smirnov): 0 where both are alike, 1
    /// where they have nothing in common.
    pub fn distance(&self, other: &Self) -> f64 {
        let all = |own: &Self| own.count.iter().sum::<u64>().max(1) as f64;
        let share = |own: &Self, bucket: usize| own.count.get(bucket).map_or(0.0, |&n| n as f64 / all(own));
        let mut below = 0.0;
        let differences = (0..self.count.len().max(other.count.len())).map(|bucket| {
            below += share(self, bucket) - share(other, bucket);
            f64::abs(below)
        });
        differences.fold(0.0, f64::max)
    }

    /// Share of all times in every bucket, at the middle of the bucket.
    pub fn shares(&self) -> Vec<(f64, f64)> {
        let all = self.count.iter().sum::<u64>().max(1) as f64;
        let middle = |upper: &f64| upper * 2f64.powf(-0.5 / FINENESS);
        self.upper_us.iter().map(middle).zip(self.count.iter().map(|&count| count as f64 / all)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_fall_into_their_buckets() {
        let histogram = Histogram::of([0.0, 0.5, 1.0, 2.0, 2.1, 16.0].into_iter());
        assert_eq!((histogram.count.len(), histogram.count[0], histogram.count[4]), (17, 3, 1));
        assert_eq!((histogram.count[5], histogram.count[16], histogram.upper_us[16]), (1, 1, 16.0));
        assert!((histogram.shares().iter().map(|share| share.1).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(Histogram::of([].into_iter()).is_empty());
        let distance = |a: &[f64], b: &[f64]| {
            Histogram::of(a.iter().copied()).distance(&Histogram::of(b.iter().copied()))
        };
        assert_eq!((distance(&[1.0, 9.0], &[9.0, 1.0]), distance(&[1.0], &[9.0])), (0.0, 1.0));
        assert!((distance(&[1.0, 1.0, 9.0, 9.0], &[1.0, 9.0, 9.0, 9.0]) - 0.25).abs() < 1e-12);
    }
}

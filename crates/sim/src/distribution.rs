//! How a cost is distributed: by a number, by mean and spread, or as it was counted.

use crate::random::Random;
use serde::{Deserialize, Serialize};

/// The distribution of a time in microseconds, or of a count.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Distribution {
    /// As counted: how many values fell into buckets with these upper ends, the first of which begins at 0. The form of
    /// histograms in result lines.
    Counted {
        /// Upper end of each bucket, ascending.
        upper_us: Vec<f64>,
        /// Values in it.
        count: Vec<u64>,
    },
    /// Lognormal.
    Spread {
        /// Mean.
        mean: f64,
        /// Standard deviation, as a share of the mean.
        variation: f64,
    },
    /// Always this.
    Always(f64),
}

impl Distribution {
    /// Its mean.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Always(value) => *value,
            Self::Spread { mean, .. } => *mean,
            Self::Counted { count, .. } => {
                let all = count.iter().sum::<u64>().max(1) as f64;
                self.buckets().map(|(low, high, count)| f64::midpoint(low, high) * count as f64).sum::<f64>()
                    / all
            }
        }
    }

    /// One value.
    pub fn draw(&self, random: &mut Random) -> f64 {
        match self {
            Self::Always(value) => *value,
            Self::Spread { mean, variation } => mean * random.around_one(*variation),
            Self::Counted { count, .. } => {
                let mut rank = random.unit() * count.iter().sum::<u64>() as f64;
                for (low, high, count) in self.buckets() {
                    if rank < count as f64 {
                        return low + (high - low) * rank / count as f64;
                    }
                    rank -= count as f64;
                }
                0.0
            }
        }
    }

    /// One value, as a time in nanoseconds.
    pub fn draw_ns(&self, random: &mut Random) -> u64 {
        (self.draw(random) * 1e3) as u64
    }

    /// The same shape around `mean`. One of mean 0 becomes a constant.
    #[must_use]
    pub fn with_mean(&self, mean: f64) -> Self {
        let factor = mean / self.mean();
        match self {
            Self::Counted { upper_us, count } if factor.is_finite() => Self::Counted {
                upper_us: upper_us.iter().map(|end| end * factor).collect(),
                count: count.clone(),
            },
            Self::Spread { variation, .. } => Self::Spread { mean, variation: *variation },
            _ => Self::Always(mean),
        }
    }

    /// Whether values can be drawn of it, none of them negative.
    pub fn is_sound(&self) -> bool {
        let fine = |value: f64| value.is_finite() && value >= 0.0;
        match self {
            Self::Always(value) => fine(*value),
            Self::Spread { mean, variation } => fine(*mean) && fine(*variation),
            Self::Counted { upper_us, count } => {
                upper_us.len() == count.len()
                    && count.iter().any(|&count| count > 0)
                    && upper_us.iter().all(|&end| fine(end))
                    && upper_us.is_sorted()
            }
        }
    }

    /// Lower end, upper end and count of each bucket.
    fn buckets(&self) -> impl Iterator<Item = (f64, f64, u64)> {
        let (ends, counts): (&[f64], &[u64]) = match self {
            Self::Counted { upper_us, count } => (upper_us, count),
            _ => (&[], &[]),
        };
        let lows = std::iter::once(0.0).chain(ends.iter().copied());
        lows.zip(ends).zip(counts).map(|((low, &high), &count)| (low, high, count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_drawn_has_the_mean() {
        let counted = Distribution::Counted { upper_us: vec![10.0, 20.0, 40.0], count: vec![1, 0, 3] };
        assert_eq!(counted.mean(), (5.0 + 90.0) / 4.0);
        let spread = Distribution::Spread { mean: 12.0, variation: 0.7 };
        let shapes = [counted.with_mean(7.0), counted, spread.with_mean(3.0), Distribution::Always(4.0)];
        for shape in shapes {
            let mut random = Random::new(3, 0);
            let drawn = (0..50_000).map(|_| shape.draw(&mut random)).sum::<f64>() / 5e4;
            assert!((drawn / shape.mean() - 1.0).abs() < 0.02, "{shape:?}: {drawn}");
        }
    }

    #[test]
    fn three_forms_are_read() {
        let read = |text: &str| serde_json::from_str::<Distribution>(text).unwrap();
        assert_eq!(read("3"), Distribution::Always(3.0));
        assert_eq!(
            read(r#"{"mean": 2, "variation": 0.5}"#),
            Distribution::Spread { mean: 2.0, variation: 0.5 }
        );
        let counted = read(r#"{"upper_us": [1, 2], "count": [0, 9]}"#);
        assert!(counted.is_sound() && counted.mean() == 1.5);
        assert!(!read(r#"{"upper_us": [1], "count": [0]}"#).is_sound() && !read("-1").is_sound());
    }
}

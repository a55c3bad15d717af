//! What is observed of the latency of searches: a histogram of fixed size, and the statistics that the tuner looks at
//! (LIOS §4.4, Exp 9).

use std::fmt;
use std::str::FromStr;

/// Latencies are counted in units of 16 ns.
const UNIT_BITS: u32 = 4;
/// Buckets an octave, as a power of two: no bucket is wider than 1/64 of its values.
const SUB_BITS: u32 = 6;
const SUBS: usize = 1 << SUB_BITS;
/// Longer ones than 2³² units (68 s) count as that.
const LONGEST: u64 = u32::MAX as u64;
const BUCKETS: usize = (32 - SUB_BITS as usize) * SUBS + SUBS;

/// Counts of latencies, 7 KB whatever they are. The mean is exact; a percentile is off by less than 1/64.
#[derive(Debug, Clone)]
pub struct LatencyHistogram {
    counts: Box<[u32; BUCKETS]>,
    count: u64,
    total_ns: u64,
    /// Sum of squares, in ns².
    squares: f64,
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self { counts: Box::new([0; BUCKETS]), count: 0, total_ns: 0, squares: 0.0 }
    }
}

impl LatencyHistogram {
    /// Takes in a latency.
    pub fn add(&mut self, latency_ns: u64) {
        self.counts[bucket((latency_ns >> UNIT_BITS).min(LONGEST))] += 1;
        self.count += 1;
        self.total_ns = self.total_ns.saturating_add(latency_ns);
        self.squares += (latency_ns as f64).powi(2);
    }

    /// Latencies it holds.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Forgets them.
    pub fn clear(&mut self) {
        self.counts.fill(0);
        (self.count, self.total_ns, self.squares) = (0, 0, 0.0);
    }

    /// Mean, in nanoseconds; 0 without latencies.
    pub fn mean_ns(&self) -> u64 {
        self.total_ns.checked_div(self.count).unwrap_or(0)
    }

    /// Standard error of the mean, as a share of the mean: how well it is known. Infinite below two latencies.
    pub fn standard_error(&self) -> f64 {
        if self.count < 2 {
            return f64::INFINITY;
        }
        let count = self.count as f64;
        let mean = (self.total_ns as f64 / count).max(1.0);
        let variance = (self.squares / count - mean * mean).max(0.0);
        (variance / count).sqrt() / mean
    }

    /// Mean and percentiles; zeros without latencies.
    pub fn summary(&self) -> Latency {
        Latency { mean_ns: self.mean_ns(), p95_ns: self.percentile(0.95), p99_ns: self.percentile(0.99) }
    }

    /// The value that a share `rank` of the latencies does not exceed, in nanoseconds, interpolated within its bucket.
    fn percentile(&self, rank: f64) -> u64 {
        let wanted = rank * self.count as f64;
        let mut below = 0.0;
        for (at, &count) in self.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let here = f64::from(count);
            if below + here >= wanted {
                let (low, width) = extent(at);
                return ((low as f64 + width as f64 * (wanted - below) / here) as u64) << UNIT_BITS;
            }
            below += here;
        }
        0
    }
}

/// The bucket of a latency in units: its number while small, then its leading bits and how many follow.
fn bucket(units: u64) -> usize {
    let bits = u64::BITS - units.leading_zeros();
    let shift = bits.saturating_sub(SUB_BITS + 1);
    shift as usize * SUBS + (units >> shift) as usize
}

/// The smallest value of a bucket, and how many values it has, in units.
fn extent(bucket: usize) -> (u64, u64) {
    let shift = (bucket / SUBS).saturating_sub(1);
    (((bucket - shift * SUBS) as u64) << shift, 1 << shift)
}

/// Latency of searches over some time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Latency {
    /// Mean, in nanoseconds.
    pub mean_ns: u64,
    /// 95th percentile, in nanoseconds.
    pub p95_ns: u64,
    /// 99th percentile, in nanoseconds.
    pub p99_ns: u64,
}

impl Latency {
    /// The point half way to `other`.
    pub fn midpoint(self, other: Latency) -> Latency {
        Latency {
            mean_ns: self.mean_ns.midpoint(other.mean_ns),
            p95_ns: self.p95_ns.midpoint(other.p95_ns),
            p99_ns: self.p99_ns.midpoint(other.p99_ns),
        }
    }
}

/// What of the latency has to stay within the bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Statistic {
    /// The mean (the paper's default).
    #[default]
    Mean,
    /// The mean and the 95th percentile, each.
    MeanP95,
    /// The mean, the 95th and the 99th percentile, each.
    MeanP95P99,
    /// The 99th percentile.
    P99,
}

/// Latencies beyond a percentile for it to be worth something.
const TAIL: u64 = 20;

impl Statistic {
    /// Every statistic.
    pub const ALL: [Statistic; 4] =
        [Statistic::Mean, Statistic::MeanP95, Statistic::MeanP95P99, Statistic::P99];

    /// The name used in configs and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Statistic::Mean => "mean",
            Statistic::MeanP95 => "mean+p95",
            Statistic::MeanP95P99 => "mean+p95+p99",
            Statistic::P99 => "p99",
        }
    }

    /// Queries it takes at least to know it: 20 beyond each percentile.
    pub const fn least_queries(self) -> u64 {
        match self {
            Statistic::Mean => TAIL,
            Statistic::MeanP95 => TAIL * 20,
            Statistic::MeanP95P99 | Statistic::P99 => TAIL * 100,
        }
    }

    /// The observed and the baseline value, in nanoseconds, of the part that has grown most: each part has to stay
    /// within the bound by itself, or a shorter mean would buy a longer tail.
    pub fn worst(self, observed: Latency, baseline: Latency) -> (u64, u64) {
        let mean = (observed.mean_ns, baseline.mean_ns);
        let p95 = (observed.p95_ns, baseline.p95_ns);
        let p99 = (observed.p99_ns, baseline.p99_ns);
        match self {
            Statistic::Mean => mean,
            Statistic::MeanP95 => worse(mean, p95),
            Statistic::MeanP95P99 => worse(worse(mean, p95), p99),
            Statistic::P99 => p99,
        }
    }
}

/// By which share an observed value is above its baseline; negative if below.
pub(crate) fn degradation((observed_ns, baseline_ns): (u64, u64)) -> f64 {
    observed_ns as f64 / baseline_ns.max(1) as f64 - 1.0
}

fn worse(one: (u64, u64), other: (u64, u64)) -> (u64, u64) {
    if degradation(other) > degradation(one) { other } else { one }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A word that names no statistic.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no latency statistic; expected mean, mean+p95, mean+p95+p99 or p99")]
pub struct UnknownStatistic(String);

impl FromStr for Statistic {
    type Err = UnknownStatistic;

    fn from_str(text: &str) -> Result<Self, UnknownStatistic> {
        let named = Self::ALL.into_iter().find(|statistic| statistic.name() == text);
        named.ok_or_else(|| UnknownStatistic(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn every_latency_is_in_its_bucket() {
        let mut next = 0;
        for at in 0..BUCKETS {
            let (low, width) = extent(at);
            assert_eq!(low, next, "buckets leave no gap");
            assert_eq!((bucket(low), bucket(low + width - 1)), (at, at));
            next = low + width;
        }
        assert_eq!(next, LONGEST + 1);
    }

    #[test]
    fn summaries_are_close_to_the_sorted_truth() {
        let mut rng = rand_pcg::Pcg64::seed_from_u64(7);
        let mut all: Vec<u64> =
            (0..20_000).map(|_| (1e6 * f64::exp(rng.random_range(0.0..3.0))) as u64).collect();
        let mut histogram = LatencyHistogram::default();
        all.iter().for_each(|&latency| histogram.add(latency));
        all.sort_unstable();
        let summary = histogram.summary();
        let deviation =
            all.iter().map(|&ns| (ns as f64 - summary.mean_ns as f64).powi(2)).sum::<f64>().sqrt();
        let error = deviation / 20_000.0 / summary.mean_ns as f64;
        assert!((histogram.standard_error() / error - 1.0).abs() < 1e-3);
        assert_eq!(summary.mean_ns, all.iter().sum::<u64>() / 20_000);
        for (got, rank) in [(summary.p95_ns, 19_000), (summary.p99_ns, 19_800)] {
            let true_ns = all[rank - 1] as f64;
            assert!((got as f64 / true_ns - 1.0).abs() < 0.004, "{got} for {true_ns}");
        }
        histogram.clear();
        assert_eq!((histogram.count(), histogram.summary()), (0, Latency::default()));
    }

    #[test]
    fn extremes_are_counted() {
        let mut histogram = LatencyHistogram::default();
        histogram.add(0);
        histogram.add(u64::MAX);
        assert!(histogram.summary().p99_ns > 60_000_000_000);
    }

    #[test]
    fn the_part_that_has_grown_most_counts() {
        let baseline = Latency { mean_ns: 100, p95_ns: 200, p99_ns: 400 };
        let observed = Latency { mean_ns: 104, p95_ns: 220, p99_ns: 404 };
        assert_eq!(Statistic::Mean.worst(observed, baseline), (104, 100));
        assert_eq!(Statistic::MeanP95.worst(observed, baseline), (220, 200));
        assert_eq!(Statistic::MeanP95P99.worst(observed, baseline), (220, 200));
        assert_eq!(Statistic::P99.worst(observed, baseline), (404, 400));
    }

    #[test]
    fn names_come_back() {
        for statistic in Statistic::ALL {
            assert_eq!(statistic.to_string().parse(), Ok(statistic));
        }
        assert!("median".parse::<Statistic>().is_err());
    }
}

//! Threads that share cores: hardware threads slow each other down when both compute.

use serde::{Deserialize, Serialize};

/// Over which time it is averaged who computes.
const WINDOW_NS: f64 = 1e6;

/// The processor.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Processor {
    /// Cores. With fewer threads than that each has its own; beyond, two share one, up to twice as many. 0: all have their
    /// own, however many they are.
    pub cores: u32,
    /// What two threads on a core do together, by what one does alone: from 1 to 2.
    pub together: f64,
}

impl Processor {
    /// Whether it is one.
    pub(crate) fn is_sound(&self) -> bool {
        (1.0..=2.0).contains(&self.together)
    }

    /// How many times as long computation takes with `threads` threads, of which `computing` compute at a time.
    pub fn slowdown(&self, threads: u32, computing: f64) -> f64 {
        if self.cores == 0 || threads <= self.cores {
            return 1.0;
        }
        let threads = f64::from(threads);
        let paired = (2.0 * (threads - f64::from(self.cores)) / threads).min(1.0);
        let other_computes = (computing / threads).clamp(0.0, 1.0);
        1.0 + paired * other_computes * (2.0 / self.together - 1.0)
    }
}

/// How many searching cores compute, of late.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Load {
    cores: f64,
    at_ns: u64,
}

impl Load {
    /// A core computed for `ns` from `now_ns` on, not before what was added earlier.
    pub(crate) fn add(&mut self, now_ns: u64, ns: u64) {
        self.cores = self.cores(now_ns) + ns as f64 / WINDOW_NS;
        self.at_ns = self.at_ns.max(now_ns);
    }

    /// Cores that compute.
    pub(crate) fn cores(&self, now_ns: u64) -> f64 {
        self.cores * (-(now_ns.saturating_sub(self.at_ns) as f64) / WINDOW_NS).exp()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_those_who_share_a_core_slow_each_other_down() {
        let processor = Processor { cores: 16, together: 1.25 };
        let slowdown = |threads, computing| processor.slowdown(threads, computing);
        assert_eq!([slowdown(16, 16.0), slowdown(32, 0.0)], [1.0, 1.0]);
        assert_eq!([slowdown(32, 32.0), slowdown(24, 24.0)], [1.6, 1.0 + 2.0 / 3.0 * 0.6]);
        assert_eq!(Processor { cores: 0, together: 1.0 }.slowdown(64, 64.0), 1.0);
    }

    #[test]
    fn load_is_the_number_of_those_who_compute() {
        let mut load = Load::default();
        for step in 0..2000 {
            load.add(step * 10_000, 5_000);
            load.add(step * 10_000, 10_000);
        }
        assert!((load.cores(20_000_000) - 1.5).abs() < 0.05, "{load:?}");
        assert!(load.cores(40_000_000) < 1e-6);
    }
}

//! The SSD: how long an operation takes by how many are under way, and how many it completes a second at most.

use crate::random::Random;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is known of a device.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DeviceCosts {
    /// Operations it completes a second at most.
    pub iops: f64,
    /// Mean latency in microseconds by operations under way, ascending; interpolated between, constant beyond.
    pub latency_us: Vec<(f64, f64)>,
    /// Standard deviation of the latency, as a share of its mean.
    pub variation: f64,
    /// From a completion to the first instruction of a core that slept, in microseconds.
    pub wake_us: f64,
    /// A core with a single search looks for its reads for so long before it sleeps, in microseconds.
    pub spin_us: f64,
}

impl DeviceCosts {
    /// Mean latency with `depth` operations under way, in microseconds.
    pub fn mean_us(&self, depth: f64) -> f64 {
        let above = self.latency_us.partition_point(|&(at, _)| at < depth);
        match (above.checked_sub(1).map(|below| self.latency_us[below]), self.latency_us.get(above)) {
            (Some(low), Some(high)) => low.1 + (high.1 - low.1) * (depth - low.0) / (high.0 - low.0),
            (Some((_, us)), None) | (None, Some(&(_, us))) => us,
            (None, None) => 0.0,
        }
    }

    /// A device that takes `factor` times as long for everything.
    #[must_use]
    pub fn slower(&self, factor: f64) -> Self {
        let latency_us = self.latency_us.iter().map(|&(depth, us)| (depth, us * factor)).collect();
        Self { iops: self.iops / factor, latency_us, ..self.clone() }
    }

    /// Whether it is a device.
    pub fn is_sound(&self) -> bool {
        let fine = |value: f64| value.is_finite() && value >= 0.0;
        self.iops.is_finite()
            && self.iops > 0.0
            && !self.latency_us.is_empty()
            && self.latency_us.is_sorted_by(|one, next| one.0 < next.0)
            && self.latency_us.iter().all(|&(depth, us)| fine(depth) && fine(us))
            && [self.variation, self.wake_us, self.spin_us].into_iter().all(fine)
    }
}

/// A device at work. When an operation completes is known when it is submitted: nothing later changes it.
#[derive(Debug)]
pub struct Device {
    costs: DeviceCosts,
    random: Random,
    /// When those under way complete.
    under_way: BinaryHeap<Reverse<u64>>,
    /// When the queue that completes one operation per 1/IOPS has served all so far.
    served_ns: f64,
    operations: u64,
}

impl Device {
    /// An idle device.
    pub fn new(costs: DeviceCosts, random: Random) -> Self {
        Self { costs, random, under_way: BinaryHeap::new(), served_ns: 0.0, operations: 0 }
    }

    /// `count` operations are submitted together at `now_ns`, not before those submitted earlier; `done` is told when
    /// each completes.
    pub fn submit(&mut self, now_ns: u64, count: u32, mut done: impl FnMut(u64)) {
        while self.under_way.peek().is_some_and(|&Reverse(at_ns)| at_ns <= now_ns) {
            self.under_way.pop();
        }
        let mean_us = self.costs.mean_us((self.under_way.len() + count as usize) as f64);
        for _ in 0..count {
            let alone_ns = 1e3 * mean_us * self.random.around_one(self.costs.variation);
            self.served_ns = self.served_ns.max(now_ns as f64) + 1e9 / self.costs.iops;
            let at_ns = (now_ns as f64 + alone_ns).max(self.served_ns) as u64;
            self.under_way.push(Reverse(at_ns));
            self.operations += 1;
            done(at_ns);
        }
    }

    /// Operations submitted so far.
    pub fn operations(&self) -> u64 {
        self.operations
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn costs() -> DeviceCosts {
        DeviceCosts {
            iops: 100_000.0,
            latency_us: vec![(1.0, 46.0), (4.0, 96.0), (8.0, 124.0)],
            variation: 0.0,
            wake_us: 0.0,
            spin_us: 0.0,
        }
    }

    #[test]
    fn latency_is_interpolated() {
        let at = [0.5, 1.0, 2.5, 8.0, 100.0].map(|depth| costs().mean_us(depth));
        assert_eq!(at, [46.0, 46.0, 71.0, 124.0, 124.0]);
        assert_eq!(costs().slower(2.0).mean_us(4.0), 192.0);
    }

    #[test]
    fn no_more_than_its_operations_a_second() {
        let mut device = Device::new(costs(), Random::new(1, 0));
        let mut last_ns = 0;
        for burst in 0..100 {
            device.submit(burst, 100, |at_ns| last_ns = last_ns.max(at_ns));
        }
        assert_eq!((device.operations(), last_ns), (10_000, 100_000_000));
        let mut alone = 0;
        device.submit(1_000_000_000, 1, |at_ns| alone = at_ns);
        assert_eq!(alone, 1_000_046_000);
    }
}

//! The least that updates get: where everything is cached there are no stalls, and the queue has to drain all the same.

use crate::options::{FloorOptions, nanos};

/// What one core owes to updates. It accrues as a share of the core's time, up to a few slices, and is paid by every
/// slice, those in stalls included: where stalls give more than the share, nothing is ever owed.
#[derive(Debug, Clone)]
pub struct Floor {
    share: f64,
    slice_ns: u64,
    most_ns: f64,
    owed_ns: f64,
    last_ns: Option<u64>,
}

impl Floor {
    /// Nothing is owed yet.
    pub fn new(options: FloorOptions) -> Self {
        let slice_ns = nanos(options.slice).max(1);
        let most_ns = slice_ns as f64 * f64::from(options.most_owed.max(1));
        Self { share: options.share, slice_ns, most_ns, owed_ns: 0.0, last_ns: None }
    }

    /// Updates were worked on for `slice_ns` nanoseconds.
    pub fn paid(&mut self, slice_ns: u64) {
        self.owed_ns = (self.owed_ns - slice_ns as f64).max(-self.most_ns);
    }

    /// Asked at the end of each query: the length of the slice that is owed, in nanoseconds, if one is.
    pub fn owed(&mut self, now_ns: u64) -> Option<u64> {
        let elapsed_ns = now_ns.saturating_sub(self.last_ns.unwrap_or(now_ns));
        self.last_ns = Some(self.last_ns.map_or(now_ns, |last_ns| last_ns.max(now_ns)));
        self.owed_ns = (self.owed_ns + self.share * elapsed_ns as f64).min(self.most_ns);
        (self.owed_ns >= self.slice_ns as f64).then_some(self.slice_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn floor() -> Floor {
        Floor::new(FloorOptions { share: 0.05, slice: Duration::from_nanos(50_000), most_owed: 4 })
    }

    /// Queries of 100 µs one after the other for a second, `stall_ns` of each given to updates already.
    fn share_of_a_busy_second(stall_ns: u64) -> f64 {
        let mut floor = floor();
        let (mut now_ns, mut worked_ns) = (0, 0);
        while now_ns < 1_000_000_000 {
            now_ns += 100_000;
            floor.paid(stall_ns);
            if let Some(slice_ns) = floor.owed(now_ns) {
                floor.paid(slice_ns);
                (now_ns, worked_ns) = (now_ns + slice_ns, worked_ns + slice_ns);
            }
        }
        worked_ns as f64 / now_ns as f64
    }

    #[test]
    fn without_stalls_updates_get_their_share() {
        assert!((share_of_a_busy_second(0) - 0.05).abs() < 0.001);
    }

    #[test]
    fn stalls_count_and_nothing_is_owed_beyond_the_share() {
        assert!((share_of_a_busy_second(2_000) - 0.03).abs() < 0.002);
        assert_eq!(share_of_a_busy_second(6_000), 0.0);
    }

    #[test]
    fn debts_are_bounded() {
        let mut floor = floor();
        floor.owed(0);
        let mut slices = 0;
        while let Some(slice_ns) = floor.owed(3_600_000_000_000) {
            floor.paid(slice_ns);
            slices += 1;
        }
        assert_eq!(slices, 4);
        floor.paid(1_000_000_000);
        assert_eq!(
            floor.owed(3_600_000_000_000 + 8_100_000),
            Some(50_000),
            "nor is what was paid in advance"
        );
    }

    #[test]
    fn no_share_no_slices() {
        let mut floor = Floor::new(FloorOptions { share: 0.0, ..FloorOptions::default() });
        assert_eq!((floor.owed(0), floor.owed(u64::MAX)), (None, None));
    }
}

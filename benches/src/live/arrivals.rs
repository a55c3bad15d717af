//! When searches come: one after another without a pause, or at moments of their own.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::sync::Mutex;

/// Seed of the arrivals, the same for every arm and point so that all are offered the same load.
const SEED: u64 = 1;
/// Bursts begin so many seconds after one another.
const BURST_EVERY: f64 = 10.0;
/// And last so long, at the end of that time.
const BURST_SECONDS: f64 = 2.0;

/// How searches come.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Arrivals {
    /// Closed loop: whoever has an answer asks the next.
    #[default]
    Saturated,
    /// Open loop: Poisson arrivals, whether the index keeps up or not.
    Open {
        /// Searches a second.
        rate: f64,
        /// By which the rate is multiplied for two seconds of every ten; 1 for none.
        burst: f64,
    },
}

/// The moments at which searches are to begin, in seconds from the beginning, handed out in order.
#[derive(Debug)]
pub struct Schedule {
    arrivals: Arrivals,
    state: Mutex<(f64, Pcg64Mcg)>,
}

impl Schedule {
    /// From the beginning.
    pub fn new(arrivals: Arrivals) -> Self {
        Self { arrivals, state: Mutex::new((0.0, Pcg64Mcg::seed_from_u64(SEED))) }
    }

    /// When the next search is to begin; none where it begins at once.
    pub fn next(&self) -> Option<f64> {
        let Arrivals::Open { rate, burst } = self.arrivals else { return None };
        let mut state = self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let (now, random) = &mut *state;
        let bursting = now.rem_euclid(BURST_EVERY) >= BURST_EVERY - BURST_SECONDS;
        let rate = if bursting { rate * burst } else { rate };
        // An exponential gap; 1 − u is never 0.
        *now -= (1.0 - random.random::<f64>()).ln() / rate;
        Some(*now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_come_at_their_rate_and_faster_in_bursts() {
        assert_eq!(Schedule::new(Arrivals::Saturated).next(), None);
        let schedule = Schedule::new(Arrivals::Open { rate: 100.0, burst: 4.0 });
        let times: Vec<f64> = std::iter::from_fn(|| schedule.next()).take_while(|&at| at < 100.0).collect();
        let (burst, calm): (Vec<f64>, Vec<f64>) = times.iter().partition(|at| at.rem_euclid(10.0) >= 8.0);
        let (burst, calm) = (burst.len() as f64 / 20.0, calm.len() as f64 / 80.0);
        assert!((90.0..110.0).contains(&calm) && (340.0..460.0).contains(&burst), "{calm} {burst}");
        assert!(times.windows(2).all(|pair| pair[0] <= pair[1]));
    }
}

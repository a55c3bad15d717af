//! Step 2: a binary search for the largest feasible utilisation.

/// What a probe led to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Found {
    /// Try this one next.
    Probe(f32),
    /// This one is feasible, and the search is over.
    Feasible(f32),
    /// No probe was feasible.
    Nothing,
}

/// Between which settings the largest feasible one is: `low` is feasible (or 0), `high` is not (or 1).
///
/// A guess is tried first. If it is feasible the search is over: the steady state goes on from there. If it is not, it has
/// halved nothing, and cost one probe.
#[derive(Debug, Clone, Copy)]
pub(super) struct BinarySearch {
    low: f32,
    high: f32,
    guess: Option<f32>,
}

impl BinarySearch {
    /// A search that tries `guess` first, if there is one above 0.
    pub(super) fn new(guess: Option<f32>) -> Self {
        Self { low: 0.0, high: 1.0, guess: guess.filter(|&guess| guess > 0.0) }
    }

    /// The setting to try.
    pub(super) fn probe(&self) -> f32 {
        self.guess.unwrap_or_else(|| self.low.midpoint(self.high))
    }

    /// The probe was tried.
    pub(super) fn tried(&mut self, feasible: bool, resolution: f32) -> Found {
        let probe = self.probe();
        if self.guess.take().is_some() && feasible {
            return Found::Feasible(probe);
        }
        if feasible {
            self.low = probe;
        } else {
            self.high = probe;
        }
        assert!(self.low < self.high, "what is feasible is below what is not");
        if self.high - self.low > resolution {
            return Found::Probe(self.probe());
        }
        if self.low > 0.0 { Found::Feasible(self.low) } else { Found::Nothing }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_finds_the_largest_feasible_setting_in_four_probes() {
        for limit in [0.0f32, 0.03, 0.07, 0.3, 0.5, 0.77, 0.94, 1.0] {
            let mut search = BinarySearch::new(None);
            let mut probes = 1;
            let found = loop {
                match search.tried(search.probe() <= limit, 1.0 / 16.0) {
                    Found::Probe(_) => probes += 1,
                    found => break found,
                }
            };
            assert_eq!(probes, 4);
            match found {
                Found::Feasible(share) => assert!(share <= limit && share >= limit - 1.0 / 16.0),
                found => assert!(found == Found::Nothing && limit < 1.0 / 16.0),
            }
        }
    }
    #[test]
    fn a_guess_is_taken_where_it_is_feasible_and_costs_a_probe_where_it_is_not() {
        assert_eq!(BinarySearch::new(Some(0.8)).tried(true, 1.0 / 16.0), Found::Feasible(0.8));
        let mut search = BinarySearch::new(Some(1.0));
        assert_eq!(search.tried(false, 1.0 / 16.0), Found::Probe(0.5));
        let mut search = BinarySearch::new(Some(0.04));
        assert_eq!(search.tried(false, 1.0 / 16.0), Found::Nothing);
        assert_eq!(BinarySearch::new(Some(0.0)).probe(), 0.5);
    }
}

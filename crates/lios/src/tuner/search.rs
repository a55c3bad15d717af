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

/// How far below the bound a linear guess aims, as a share of it: what is exactly at the bound is above it half of the time.
const SHORT_OF_THE_BOUND: f64 = 0.95;

/// Between which settings the largest feasible one is: `low` is feasible (or 0), `high` is not (or 1).
///
/// Guesses are tried first: one that is handed in, and if it violates the bound, the setting at which a linear cost would meet
/// it. A guess that is feasible ends the search, and the steady state goes on from there; one that is not takes what is above
/// it from the search.
#[derive(Debug, Clone, Copy)]
pub(super) struct BinarySearch {
    low: f32,
    high: f32,
    guess: Option<Guess>,
}

#[derive(Debug, Clone, Copy)]
enum Guess {
    Given(f32),
    Linear(f32),
}

impl Guess {
    fn setting(self) -> f32 {
        match self {
            Guess::Given(setting) | Guess::Linear(setting) => setting,
        }
    }
}

impl BinarySearch {
    /// A search that tries `guess` first, if there is one above 0.
    pub(super) fn new(guess: Option<f32>) -> Self {
        Self { low: 0.0, high: 1.0, guess: guess.filter(|&guess| guess > 0.0).map(Guess::Given) }
    }

    /// The setting to try.
    pub(super) fn probe(&self) -> f32 {
        self.guess.map_or_else(|| self.low.midpoint(self.high), Guess::setting)
    }

    /// The probe was tried, and came to this degradation in shares of θ: above 1 it is not feasible.
    pub(super) fn tried(&mut self, of_theta: f64, resolution: f32) -> Found {
        let (probe, feasible) = (self.probe(), of_theta <= 1.0);
        match self.guess.take() {
            Some(_) if feasible => return Found::Feasible(probe),
            Some(Guess::Given(_)) => {
                let linear = (SHORT_OF_THE_BOUND * f64::from(probe) / of_theta) as f32;
                self.guess = (linear >= resolution).then_some(Guess::Linear(linear));
            }
            _ => {}
        }
        if feasible {
            self.low = probe;
        } else {
            self.high = probe;
        }
        assert!(self.low < self.high, "what is feasible is below what is not");
        if self.guess.is_some() || self.high - self.low > resolution {
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
                match search.tried(if search.probe() <= limit { 0.9 } else { 1.1 }, 1.0 / 16.0) {
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
    fn a_guess_is_taken_where_it_is_feasible_and_leads_to_another_where_it_is_not() {
        let tried = |search: &mut BinarySearch, of_theta: f64| search.tried(of_theta, 1.0 / 16.0);
        assert_eq!(tried(&mut BinarySearch::new(Some(0.8)), 1.0), Found::Feasible(0.8));
        let mut search = BinarySearch::new(Some(1.0));
        assert_eq!(tried(&mut search, 2.0), Found::Probe(0.475));
        assert_eq!(tried(&mut search, 0.95), Found::Feasible(0.475));
        // A cost that jumps: below the second guess it is searched for by halves.
        let mut search = BinarySearch::new(Some(1.0));
        assert_eq!(tried(&mut search, 1.9), Found::Probe(0.5));
        assert_eq!(tried(&mut search, 1.8), Found::Probe(0.25));
        assert_eq!(tried(&mut search, 0.1), Found::Probe(0.375));
        let mut search = BinarySearch::new(Some(0.04));
        assert_eq!(
            tried(&mut search, 4.0),
            Found::Nothing,
            "what is too small to look for is not guessed either"
        );
        assert_eq!(BinarySearch::new(Some(0.0)).probe(), 0.5);
    }
}

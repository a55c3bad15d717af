//! What came out for a phase of an arm, beside the first arm of the case: of every round, or of a simulation.

use super::measure::{Measure, Phase, Source};
use super::study::Place;
use crate::live::LiveRow;
use crate::row::median;
use gleann_sim::Report;

/// A phase of an arm.
#[derive(Debug, Clone)]
pub struct Line {
    /// Which.
    pub place: Place,
    /// What came out.
    pub outcome: Outcome,
}

/// A phase as it came out, and what it is held against.
#[derive(Debug, Clone)]
pub struct Round<R> {
    /// The phase.
    pub own: R,
    /// The same phase of the first arm.
    pub first: R,
    /// The phase of the same arm in which nothing is updated.
    pub idle: Option<R>,
}

/// Where values come from.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// This machine, in every round.
    Measured(Vec<Round<LiveRow>>),
    /// Virtual time.
    Simulated(Box<Round<Report>>),
}

impl<R> Round<R> {
    fn value<'r>(&'r self, measure: Measure, source: fn(&'r R) -> Source<'r>) -> Option<f64> {
        let Round { own, first, idle } = self;
        measure.of(Phase { own: source(own), first: source(first), idle: idle.as_ref().map(source) })
    }

    /// The phase `phase` of an arm, if it and the first arm have it.
    pub fn of_phase(own: &[R], first: &[R], phase: &str, name: fn(&R) -> &str) -> Option<Self>
    where
        R: Clone,
    {
        let find = |rows: &[R], phase: &str| rows.iter().find(|row| name(row) == phase).cloned();
        Some(Self { own: find(own, phase)?, first: find(first, phase)?, idle: find(own, "idle") })
    }
}

impl Line {
    /// The value of a measure. Comparisons are made within a round; of rounds, the median is taken.
    pub fn value(&self, measure: Measure) -> Option<f64> {
        let value = match &self.outcome {
            Outcome::Simulated(round) => round.value(measure, Source::Simulated),
            Outcome::Measured(rounds) => {
                let mut values: Vec<f64> =
                    rounds.iter().filter_map(|round| round.value(measure, Source::Measured)).collect();
                (!values.is_empty()).then(|| median(&mut values))
            }
        };
        value.filter(|value| value.is_finite())
    }

    /// How it was made, for tables.
    pub fn source(&self) -> String {
        match &self.outcome {
            Outcome::Measured(rounds) if rounds.len() == 1 => "measured".to_owned(),
            Outcome::Measured(rounds) => format!("measured, {} rounds", rounds.len()),
            Outcome::Simulated(_) => "simulated".to_owned(),
        }
    }

    /// The line of the first round, if it was measured.
    pub fn measured(&self) -> Option<&LiveRow> {
        match &self.outcome {
            Outcome::Measured(rounds) => rounds.first().map(|round| &round.own),
            Outcome::Simulated(_) => None,
        }
    }

    /// The tuner's intervals in the phase.
    pub fn trace(&self) -> &[gleann_sim::TracePart] {
        match &self.outcome {
            Outcome::Measured(_) => {
                self.measured().and_then(|row| row.stalls.as_ref()).map_or(&[], |stalls| &stalls.tuner_trace)
            }
            Outcome::Simulated(round) => &round.own.trace,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparisons_are_made_within_a_round() {
        let row = |rate: f64| {
            let mut row = LiveRow::default();
            row.updates.vectors_per_second = Some(rate);
            row
        };
        // The machine was twice as fast in the second round.
        let rounds = [[150.0, 100.0], [320.0, 200.0], [150.0, 100.0]];
        let rounds = rounds.map(|[own, first]| Round { own: row(own), first: row(first), idle: None }).into();
        let place = Place { case: "a".into(), arm: "on".into(), phase: "insert".into() };
        let line = Line { place, outcome: Outcome::Measured(rounds) };
        assert_eq!((line.value(Measure::Speedup), line.value(Measure::Rate)), (Some(1.5), Some(150.0)));
        assert_eq!((line.value(Measure::Mean), line.source()), (None, "measured, 3 rounds".to_owned()));
    }
}

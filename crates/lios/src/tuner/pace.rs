//! Step 3: by how much the utilisation changes after an interval, and when it is left alone.

use crate::options::TunerOptions;

/// What an interval of the steady state leads to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Verdict {
    /// The utilisation stays, or changes to this.
    Use(f32),
    /// Too many violations in a row: the baseline does not hold.
    Rebaseline,
}

/// The memory of the steady state.
///
/// After a violation it goes down to where a linear cost would meet the bound, at least a step: a little above the bound
/// costs little, far above it is left at once. A step up that is followed by a violation is just taken back, and steps up wait for twice as many intervals after
/// each violation: where the bound lies between two settings, the lower one is kept, and probed beyond ever more rarely;
/// where noise crosses the bound now and then, fewer steps are taken towards it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    utilisation: f32,
    violations: u32,
    /// Intervals within the bound since the last change.
    quiet: u32,
    /// Intervals within the bound before a step up.
    patience: u32,
    /// Whether the last interval began with a step up.
    raised: bool,
}

impl Pace {
    pub(super) fn new(utilisation: f32) -> Self {
        Self { utilisation, violations: 0, quiet: 0, patience: 1, raised: false }
    }

    pub(super) fn utilisation(&self) -> f32 {
        self.utilisation
    }

    /// An interval came to this degradation, in shares of θ.
    pub(super) fn judge(&mut self, of_theta: f64, options: &TunerOptions) -> Verdict {
        if of_theta > 1.0 {
            return self.violated(of_theta, options);
        }
        self.violations = 0;
        if std::mem::take(&mut self.raised) {
            self.patience = (self.patience - 1).max(1);
        }
        self.quiet += 1;
        if of_theta <= 1.0 - options.band && self.quiet >= self.patience && self.utilisation < 1.0 {
            self.change(self.utilisation + options.step);
            self.raised = true;
        }
        Verdict::Use(self.utilisation)
    }

    fn violated(&mut self, of_theta: f64, options: &TunerOptions) -> Verdict {
        self.violations += 1;
        if self.violations >= options.violations {
            return Verdict::Rebaseline;
        }
        self.patience = self.patience.saturating_mul(2).min(options.most_patience);
        let one_step = self.utilisation - options.step;
        let lower =
            if std::mem::take(&mut self.raised) { one_step } else { self.linear(of_theta).min(one_step) };
        self.change(lower);
        Verdict::Use(self.utilisation)
    }

    /// Where the bound would be met if latency grew linearly with the utilisation; half of it at the least.
    fn linear(&self, of_theta: f64) -> f32 {
        self.utilisation * (1.0 / of_theta).max(0.5) as f32
    }

    fn change(&mut self, utilisation: f32) {
        self.utilisation = utilisation.clamp(0.0, 1.0);
        self.quiet = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> TunerOptions {
        TunerOptions { step: 0.25, band: 0.1, ..TunerOptions::default() }
    }

    fn walk(pace: &mut Pace, of_theta: &[f64]) -> Vec<Verdict> {
        of_theta.iter().map(|&of_theta| pace.judge(of_theta, &options())).collect()
    }

    #[test]
    fn up_while_within_and_still_inside_the_band() {
        let mut pace = Pace::new(0.5);
        let went = walk(&mut pace, &[0.5, 0.95, 1.0, 0.89, 0.2]);
        assert_eq!(went, [0.75, 0.75, 0.75, 1.0, 1.0].map(Verdict::Use));
    }

    #[test]
    fn a_step_too_far_is_taken_back_and_tried_ever_more_rarely() {
        let mut pace = Pace::new(0.25);
        let mut tries = Vec::new();
        for interval in 0..100 {
            let before = pace.utilisation();
            pace.judge(if before > 0.25 { 2.0 } else { 0.5 }, &options());
            if pace.utilisation() > before {
                tries.push(interval);
            }
            assert!((0.25..=0.5).contains(&pace.utilisation()));
        }
        assert_eq!(tries, [0, 3, 8, 17, 26, 35, 44, 53, 62, 71, 80, 89, 98]);
    }

    #[test]
    fn it_comes_back_from_nothing() {
        let mut pace = Pace::new(0.25);
        walk(&mut pace, &[5.0, 5.0]);
        assert_eq!(pace.utilisation(), 0.0);
        assert_eq!(walk(&mut pace, &[0.0; 9]).last(), Some(&Verdict::Use(0.75)));
    }

    #[test]
    fn violations_that_no_step_explains_bring_it_down_and_three_in_a_row_end_it() {
        let mut pace = Pace::new(0.75);
        assert_eq!(walk(&mut pace, &[1.5, 4.0, 1.0]), [0.5, 0.25, 0.25].map(Verdict::Use));
        assert_eq!(walk(&mut pace, &[1.1, 1.0]), [0.0, 0.0].map(Verdict::Use));
        assert_eq!(walk(&mut pace, &[1.1, 1.1, 1.1])[2], Verdict::Rebaseline);
    }
}

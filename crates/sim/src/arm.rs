//! The ways of using stalls that are compared.

use gleann_lios::{BudgetKind, FloorOptions, LiosOptions, Statistic, TunerOptions, Utilisation};
use std::fmt;

/// How much of the budgets is used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Share {
    /// What the tuner says, which looks at this statistic.
    Tuned(Statistic),
    /// Always this share, in [0, 1].
    Fixed(f32),
}

/// How searching cores use their stalls.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arm {
    /// By which share latency may grow. None: searching cores only search.
    pub theta: Option<f64>,
    /// How slices are bounded.
    pub budget: BudgetKind,
    /// How much of the budgets is used.
    pub share: Share,
    /// Whether what searches need next is prefetched after slices.
    pub prefetch: bool,
    /// Share of a core's time that updates get where stalls do not give it. None: the default for θ.
    pub floor: Option<f64>,
}

impl Arm {
    /// Searching cores only search.
    pub const OFF: Self = Self {
        theta: None,
        budget: BudgetKind::Bounded,
        share: Share::Tuned(Statistic::Mean),
        prefetch: true,
        floor: None,
    };

    /// The defaults for a bound θ.
    pub fn new(theta: f64) -> Self {
        Self { theta: Some(theta), ..Self::OFF }
    }

    /// The options of the scheduler: `sparse` for PipeSearch, `alone` where there is no updating thread.
    pub fn options(&self, sparse: bool, alone: bool) -> Option<LiosOptions> {
        let defaults = LiosOptions::new(self.theta?);
        let utilisation = match self.share {
            Share::Tuned(statistic) => {
                Utilisation::Tuned(TunerOptions { statistic, alone, ..TunerOptions::default() })
            }
            Share::Fixed(share) => Utilisation::Fixed(share),
        };
        let share = self.floor.unwrap_or(defaults.floor.share);
        let floor = FloorOptions { share, ..defaults.floor };
        let options = LiosOptions { budget: self.budget, utilisation, floor, ..defaults };
        Some(if sparse { options.sparse() } else { options })
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(theta) = self.theta else { return f.pad("off") };
        write!(f, "θ {theta:.3} {} ", self.budget)?;
        match self.share {
            Share::Tuned(statistic) => write!(f, "{statistic}")?,
            Share::Fixed(share) => write!(f, "{share}")?,
        }
        if let Some(floor) = self.floor {
            write!(f, " floor {floor}")?;
        }
        if self.prefetch { Ok(()) } else { f.write_str(" without prefetch") }
    }
}

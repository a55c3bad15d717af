//! The width axis: how many reads a search keeps in flight, fixed or growing once it converges
//! (DynamicWidth; design-space paper §4.3.1, PipeANN §4).

use crate::options::{MAX_WIDTH, SearchKind};
use serde::{Deserialize, Serialize};

/// The search counts as converged once so many of the nearest candidates have been asked for.
const CONVERGED_PREFIX: usize = 5;
/// PipeSearch widens while at most this share (in percent) of the arriving reads turns out to be wasted.
const WASTE_PCT: u32 = 10;

/// How many reads a search keeps in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Width {
    /// Always so many.
    Fixed(u32),
    /// `start` while the search approaches the query's neighbourhood, then growing up to `max`.
    Dynamic {
        /// Width of the approach phase.
        start: u32,
        /// Largest width of the converge phase.
        max: u32,
    },
}

impl Width {
    /// The dynamic width of the papers: from 4 to 32.
    pub const DYNAMIC: Width = Width::Dynamic { start: 4, max: 32 };

    /// The most reads this width ever asks for.
    pub fn max(self) -> u32 {
        match self {
            Width::Fixed(width) => width,
            Width::Dynamic { max, .. } => max,
        }
    }

    /// Whether the numbers make a width.
    pub fn is_valid(self) -> bool {
        let start = if let Width::Dynamic { start, .. } = self { start } else { self.max() };
        (1..=MAX_WIDTH).contains(&start) && (start..=MAX_WIDTH).contains(&self.max())
    }
}

impl std::fmt::Display for Width {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            Width::Fixed(width) => width.to_string(),
            Width::Dynamic { start, max } => format!("dynamic:{start}-{max}"),
        };
        f.pad(&text)
    }
}

impl std::str::FromStr for Width {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let problem = || {
            format!("width `{text}` is not understood; expected a number, `dynamic` or `dynamic:START-MAX`")
        };
        let width = match text.strip_prefix("dynamic") {
            Some("") => Width::DYNAMIC,
            Some(range) => {
                let (start, max) =
                    range.strip_prefix(':').and_then(|r| r.split_once('-')).ok_or_else(problem)?;
                let start = start.parse().map_err(|_| problem())?;
                Width::Dynamic { start, max: max.parse().map_err(|_| problem())? }
            }
            None => Width::Fixed(text.parse().map_err(|_| problem())?),
        };
        if width.is_valid() {
            Ok(width)
        } else {
            Err(format!(
                "width `{text}` is out of range; expected 1 to {MAX_WIDTH}, and a start not above the maximum"
            ))
        }
    }
}

/// The width of one running search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunningWidth {
    now: u32,
    max: u32,
    kind: SearchKind,
    converged: bool,
    arrived: u32,
    wasted: u32,
}

impl RunningWidth {
    pub(crate) fn new(width: Width, kind: SearchKind) -> Self {
        let now = if let Width::Dynamic { start, .. } = width { start } else { width.max() };
        Self { now, max: width.max(), kind, converged: false, arrived: 0, wasted: 0 }
    }

    /// Reads that may be in flight now.
    pub(crate) fn now(&self) -> usize {
        self.now as usize
    }

    /// Reads were asked for; `first_unread` is the position of the nearest candidate not asked for yet.
    pub(crate) fn on_issue(&mut self, first_unread: usize) {
        if self.converged && self.kind == SearchKind::Beam {
            self.now = (2 * self.now).min(self.max);
        }
        self.converged |= first_unread >= CONVERGED_PREFIX;
    }

    /// A read has come; `useful` tells whether its candidate is still in the pool.
    pub(crate) fn on_arrival(&mut self, useful: bool) {
        if !self.converged || self.kind == SearchKind::Beam {
            return;
        }
        self.arrived += 1;
        self.wasted += u32::from(!useful);
        if self.wasted * 100 <= self.arrived * WASTE_PCT {
            self.now = (self.now + 1).min(self.max);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_forms_are_read_and_written() {
        for (text, width) in [
            ("4", Width::Fixed(4)),
            ("dynamic", Width::Dynamic { start: 4, max: 32 }),
            ("dynamic:1-8", Width::Dynamic { start: 1, max: 8 }),
        ] {
            assert_eq!(text.parse(), Ok(width));
            assert_eq!(width.to_string().parse(), Ok(width));
        }
        for text in ["0", "129", "", "dynamic:8-4", "dynamic:0-4", "dynamic4", "-1"] {
            assert!(text.parse::<Width>().is_err(), "{text}");
        }
    }

    #[test]
    fn pipe_widens_only_once_converged_and_while_little_is_wasted() {
        let mut width = RunningWidth::new(Width::DYNAMIC, SearchKind::Pipe);
        width.on_arrival(true);
        width.on_issue(4);
        width.on_arrival(true);
        assert_eq!(width.now(), 4);
        width.on_issue(5);
        width.on_arrival(true);
        assert_eq!(width.now(), 5);
        width.on_arrival(false);
        width.on_arrival(true);
        assert_eq!(width.now(), 5, "a third of the reads is wasted");
        for _ in 0..100 {
            width.on_arrival(true);
        }
        assert_eq!(width.now(), 32);
    }

    #[test]
    fn beam_doubles_with_every_hop_after_convergence() {
        let mut width = RunningWidth::new(Width::Dynamic { start: 2, max: 12 }, SearchKind::Beam);
        let widths: Vec<usize> = [1, 3, 5, 6, 7, 8]
            .map(|first| {
                width.on_issue(first);
                width.now()
            })
            .into();
        assert_eq!(widths, [2, 2, 2, 4, 8, 12]);
        let mut fixed = RunningWidth::new(Width::Fixed(4), SearchKind::Beam);
        fixed.on_issue(9);
        fixed.on_issue(9);
        assert_eq!(fixed.now(), 4);
    }
}

//! The stop axis: when a search ends.

use serde::{Deserialize, Serialize};

/// When a search ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stop {
    /// Every candidate in the pool is expanded.
    #[default]
    Exhausted,
    /// Or else the nearest candidate that is not expanded is estimated farther than the k-th exact distance found
    /// so far, by a margin of so many percent of that distance. Saves reads where a long pool is there for the few
    /// queries that need it, and many exact distances are known early (PageSearch).
    Bound {
        /// Percent of the k-th distance; in an index of postings, of the distance of the nearest centroid, beyond
        /// which a posting is not read.
        margin_pct: u16,
    },
}

impl Stop {
    /// The largest estimate that is still of interest when the k-th exact distance is `kth` (infinite as long as
    /// fewer are known).
    #[inline]
    pub fn limit(self, kth: f32) -> f32 {
        match self {
            Stop::Exhausted => f32::INFINITY,
            // Ordering distances may be negative (inner product): the margin always widens.
            Stop::Bound { margin_pct } => kth + kth.abs() * f32::from(margin_pct) / 100.0,
        }
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stop::Exhausted => f.pad("exhausted"),
            Stop::Bound { margin_pct } => f.pad(&format!("bound:{margin_pct}")),
        }
    }
}

impl std::str::FromStr for Stop {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let problem = || {
            format!(
                "stop `{text}` is not understood; expected `exhausted` or `bound:PERCENT`, such as `bound:10`"
            )
        };
        match text.strip_prefix("bound:") {
            None if text == "exhausted" => Ok(Stop::Exhausted),
            None => Err(problem()),
            Some(margin) => Ok(Stop::Bound { margin_pct: margin.parse().map_err(|_| problem())? }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_widens_whatever_the_sign() {
        let stop = Stop::Bound { margin_pct: 10 };
        assert_eq!(stop.limit(100.0), 110.0);
        assert_eq!(stop.limit(-100.0), -90.0);
        assert_eq!(stop.limit(f32::INFINITY), f32::INFINITY);
        assert_eq!(Stop::Exhausted.limit(1.0), f32::INFINITY);
    }

    #[test]
    fn text_forms_are_read_and_written() {
        for text in ["exhausted", "bound:0", "bound:10"] {
            assert_eq!(text.parse::<Stop>().unwrap().to_string(), text);
        }
        for text in ["", "bound", "bound:", "bound:-1", "bound:1.5", "exhausted:1"] {
            assert!(text.parse::<Stop>().is_err(), "{text}");
        }
    }
}

//! The arms of a comparison: whether and how searching cores work on updates.

use gleann::{BudgetKind, FloorOptions, LiosOptions, SearchKind, Statistic, TunerOptions, Utilisation};
use std::fmt;
use std::str::FromStr;

/// Flags that say how searching cores work on updates in the waits of their searches.
#[derive(Debug, Clone, clap::Args)]
pub struct LiosArgs {
    /// Whether searching cores work on updates while their searches wait: off, or θ, the share by which search latency may
    /// grow (0.05 or 5%). Several, such as off,5%, are compared, each on a copy of its own
    #[arg(long, default_value = "off", value_delimiter = ',', value_name = "off|THETA")]
    lios: Vec<Theta>,
    /// How long a slice of updates may be: bounded (by the idle times seen), on_arrival (until a read has come),
    /// fixed:MICROSECONDS, unbounded (naive). Several are compared
    #[arg(long, default_value = "bounded", value_delimiter = ',')]
    budget: Vec<BudgetKind>,
    /// What of the latency is to stay within θ: mean, mean+p95, mean+p95+p99, or p99
    #[arg(long, default_value = "mean")]
    statistic: Statistic,
    /// Share of the budgets that is used: tuned, or a number from 0 to 1. Several are compared
    #[arg(long, default_value = "tuned", value_delimiter = ',', value_name = "tuned|SHARE")]
    utilisation: Vec<Use>,
    /// Do not prefetch what searches need after a slice of updates
    #[arg(long)]
    no_prefetch: bool,
    /// Share of a core's time that updates get where stalls do not give it [default: half of θ, at most 5%]
    #[arg(long, value_parser = share)]
    floor: Option<f64>,
}

/// θ, or none where searching cores do not work on updates.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Theta(Option<f64>);

impl FromStr for Theta {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self(None)),
            _ => share(text)
                .map(|theta| Self(Some(theta)))
                .map_err(|error| error.replace("expected", "expected off, or")),
        }
    }
}

/// A share, as a number or in percent.
pub fn share(text: &str) -> Result<f64, String> {
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    number.map_err(|_| "expected a share such as 5% or 0.05".to_owned())
}

/// How much of the budgets is used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Use {
    /// What the tuner finds.
    Tuned,
    /// Always the same share.
    Fixed(f32),
}

impl FromStr for Use {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "tuned" => Ok(Self::Tuned),
            _ => text.parse().map(Self::Fixed).map_err(|_| "expected tuned, or a number from 0 to 1".into()),
        }
    }
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Use::Tuned => f.pad("tuned"),
            Use::Fixed(share) => write!(f, "{share}"),
        }
    }
}

/// One arm.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Arm {
    theta: Option<f64>,
    budget: BudgetKind,
    statistic: Statistic,
    utilisation: Use,
    prefetch: bool,
    floor: Option<f64>,
}

impl Default for Arm {
    /// Searching cores only search.
    fn default() -> Self {
        Self {
            theta: None,
            budget: BudgetKind::Bounded,
            statistic: Statistic::Mean,
            utilisation: Use::Tuned,
            prefetch: true,
            floor: None,
        }
    }
}

impl LiosArgs {
    /// The arms asked for, in that order; `off` once, whatever the rest.
    pub fn arms(&self) -> Vec<Arm> {
        let mut arms = Vec::new();
        for &Theta(theta) in &self.lios {
            if theta.is_none() {
                arms.push(Arm::default());
                continue;
            }
            for &budget in &self.budget {
                arms.extend(self.utilisation.iter().map(|&utilisation| Arm {
                    theta,
                    budget,
                    statistic: self.statistic,
                    utilisation,
                    prefetch: !self.no_prefetch,
                    floor: self.floor,
                }));
            }
        }
        arms
    }
}

impl Arm {
    /// Whether searching cores only search.
    pub fn is_off(&self) -> bool {
        self.theta.is_none()
    }

    /// θ.
    pub fn theta(&self) -> Option<f64> {
        self.theta
    }

    /// Whether cores prefetch after slices.
    pub fn prefetch(&self) -> bool {
        self.prefetch
    }

    /// How slices are bounded.
    pub fn budget(&self) -> String {
        self.budget.to_string()
    }

    /// What is tuned by which statistic, or the share that is always used.
    pub fn tuner(&self) -> String {
        match self.utilisation {
            Use::Tuned => self.statistic.to_string(),
            Use::Fixed(share) => share.to_string(),
        }
    }

    /// The options of searches of this kind.
    pub fn options(&self, search: SearchKind) -> Option<LiosOptions> {
        let utilisation = match self.utilisation {
            Use::Tuned => {
                Utilisation::Tuned(TunerOptions { statistic: self.statistic, ..TunerOptions::default() })
            }
            Use::Fixed(share) => Utilisation::Fixed(share),
        };
        let defaults = LiosOptions::new(self.theta?);
        let floor = FloorOptions { share: self.floor.unwrap_or(defaults.floor.share), ..defaults.floor };
        let options = LiosOptions { budget: self.budget, utilisation, floor, ..defaults };
        Some(if search == SearchKind::Pipe { options.sparse() } else { options })
    }
}

impl fmt::Display for Arm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(theta) = self.theta else { return f.pad("off") };
        write!(f, "θ {:.3} {} {}", theta, self.budget, self.tuner())?;
        if let Some(floor) = self.floor {
            write!(f, " floor {floor}")?;
        }
        if self.prefetch { Ok(()) } else { f.write_str(" without prefetch") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(clap::Parser)]
    struct Line {
        #[command(flatten)]
        lios: LiosArgs,
    }

    fn arms(line: &str) -> Vec<String> {
        let line =
            Line::try_parse_from(format!("x {line}").split_whitespace()).map_err(|error| error.to_string());
        line.map_or_else(|error| vec![error], |line| line.lios.arms().iter().map(Arm::to_string).collect())
    }

    #[test]
    fn arms_are_what_is_listed() {
        assert_eq!(arms(""), ["off"]);
        assert_eq!(
            arms("--lios off,5% --budget bounded,on_arrival"),
            ["off", "θ 0.050 bounded mean", "θ 0.050 on_arrival mean"]
        );
        assert_eq!(
            arms("--lios 0.08 --utilisation tuned,0.5 --statistic p99 --no-prefetch"),
            ["θ 0.080 bounded p99 without prefetch", "θ 0.080 bounded 0.5 without prefetch"]
        );
        assert_eq!(
            arms("--lios 5% --budget fixed:1000 --utilisation 1 --floor 10%"),
            ["θ 0.050 fixed:1000 1 floor 0.1"]
        );
        assert!(arms("--lios on")[0].contains("expected off, or a share such as 5%"));
        assert!(arms("--lios off --budget wide")[0].contains("on_arrival"));
    }

    #[test]
    fn options_are_those_of_the_arm() {
        let arm = Arm { theta: Some(0.08), ..Arm::default() };
        assert_eq!(arm.options(SearchKind::Beam), Some(LiosOptions::new(0.08)));
        assert_eq!(arm.options(SearchKind::Pipe), Some(LiosOptions::new(0.08).sparse()));
        assert_eq!(Arm::default().options(SearchKind::Beam), None);
    }
}

//! Verdicts by rule. On a set a claim holds if its value is within `holds`, holds partly within `partly`, and else
//! does not hold. Over several sets, and a finding over its claims, holds if all hold, does not hold if none holds even
//! partly, and holds partly in between; what could not be measured has no say.

use super::claim::{Claim, Evidence};

/// Whether something holds here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As in the paper.
    Holds,
    /// In part.
    Partly,
    /// Not here.
    Fails,
    /// Not measured.
    Unknown,
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Verdict::Holds => "holds",
            Verdict::Partly => "holds partly",
            Verdict::Fails => "does not hold here",
            Verdict::Unknown => "not measured",
        })
    }
}

impl Verdict {
    /// Of a claim on one set, with the value.
    pub fn of(claim: &Claim, evidence: Evidence) -> (Self, Option<f64>) {
        let value = claim.value(evidence).filter(|value| value.is_finite());
        (Self::within(value, claim.holds, claim.partly), value)
    }

    /// Of a value, by the bounds within which a claim holds and holds partly.
    pub fn within(value: Option<f64>, holds: [f64; 2], partly: [f64; 2]) -> Self {
        let within = |[low, high]: [f64; 2], value: f64| (low..=high).contains(&value);
        match value {
            None => Verdict::Unknown,
            Some(value) if within(holds, value) => Verdict::Holds,
            Some(value) if within(partly, value) => Verdict::Partly,
            Some(_) => Verdict::Fails,
        }
    }

    /// Of several together.
    pub fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        let known: Vec<Self> = verdicts.into_iter().filter(|&verdict| verdict != Verdict::Unknown).collect();
        if known.is_empty() {
            Verdict::Unknown
        } else if known.iter().all(|&verdict| verdict == Verdict::Holds) {
            Verdict::Holds
        } else if known.iter().all(|&verdict| verdict == Verdict::Fails) {
            Verdict::Fails
        } else {
            Verdict::Partly
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Cost, Row};

    fn claim(text: &str) -> Claim {
        let claim: Claim = toml::from_str(text).unwrap();
        claim.check(&["SIFT".to_owned()]).unwrap();
        claim
    }

    fn rows() -> Vec<Row> {
        let row = |preset: &str, list: u32, recall: f64, pages: f64| Row {
            preset: preset.into(),
            list,
            recall,
            qps: 1e6 / pages,
            cost: Cost { pages_per_query: Some(pages), ..Cost::default() },
            ..Row::default()
        };
        vec![
            row("Baseline", 10, 0.85, 20.0),
            row("Baseline", 20, 0.95, 40.0),
            row("MemGraph", 10, 0.85, 15.0),
            row("MemGraph", 20, 0.95, 30.0),
        ]
    }

    #[test]
    fn bounds_decide() {
        let rows = rows();
        let evidence = Evidence { rows: &rows, fits: &[] };
        let text = |holds: &str, partly: &str| {
            format!(
                "says = \"x\"\nvariant = \"MemGraph\"\nagainst = \"Baseline\"\nmeasure = \"pages\"\n\
                 at = {{ recall = 0.90 }}\nholds = {holds}\npartly = {partly}"
            )
        };
        for (holds, partly, expected) in [
            ("[0.0, 0.8]", "[0.0, 0.9]", Verdict::Holds),
            ("[0.0, 0.7]", "[0.0, 0.8]", Verdict::Partly),
            ("[0.0, 0.6]", "[0.0, 0.7]", Verdict::Fails),
        ] {
            let (verdict, value) = Verdict::of(&claim(&text(holds, partly)), evidence);
            assert_eq!(verdict, expected);
            assert!((value.unwrap() - 0.75).abs() < 1e-9);
        }
        let beyond = text("[0.0, 0.8]", "[0.0, 0.9]").replace("0.90", "0.99");
        assert_eq!(Verdict::of(&claim(&beyond), evidence), (Verdict::Unknown, None));
        let together = claim(
            "says = \"x\"\ncorrelate = [\"qps\", \"pages\"]\nholds = [-1.0, -0.9]\npartly = [-1.0, 0.0]",
        );
        assert_eq!(Verdict::of(&together, evidence).0, Verdict::Holds);
    }

    #[test]
    fn claims_contradict_themselves_in_vain() {
        for text in [
            "says = \"x\"\nholds = [0.0, 1.0]\npartly = [0.0, 1.0]",
            "says = \"x\"\nfit = \"f\"\nholds = [0.0, 1.0]\npartly = [0.5, 1.0]",
            "says = \"x\"\nfit = \"f\"\nfinding = 13\nholds = [0.0, 1.0]\npartly = [0.0, 1.0]",
            "says = \"x\"\nfit = \"f\"\nsets = [\"MARS\"]\nholds = [0.0, 1.0]\npartly = [0.0, 1.0]",
        ] {
            assert!(toml::from_str::<Claim>(text).unwrap().check(&["SIFT".to_owned()]).is_err(), "{text}");
        }
    }

    #[test]
    fn the_unmeasured_has_no_say() {
        use Verdict::{Fails, Holds, Partly, Unknown};
        for (verdicts, expected) in [
            (vec![], Unknown),
            (vec![Unknown], Unknown),
            (vec![Holds, Unknown], Holds),
            (vec![Holds, Fails], Partly),
            (vec![Partly, Fails], Partly),
            (vec![Fails, Unknown, Fails], Fails),
        ] {
            assert_eq!(Verdict::all(verdicts), expected);
        }
    }
}

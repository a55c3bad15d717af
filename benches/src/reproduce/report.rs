//! What came out, for people: a table with the paper's figures beside ours, verdicts, and the same as Markdown.

use super::claim::Evidence;
use super::matched::{At, value};
use super::measure::Measure;
use super::model::Fit;
use super::plan::Scale;
use super::sets::Set;
use super::study::Study;
use super::verdict::Verdict;
use crate::row::Row;
use std::fmt::Write;

/// A study on one set.
#[derive(Debug)]
pub struct Outcome {
    /// The vectors.
    pub set: Set,
    /// How much was done.
    pub scale: Scale,
    /// What was measured: medians, named by variant.
    pub rows: Vec<Row>,
    /// Fits of the I/O model.
    pub fits: Vec<Fit>,
}

impl Outcome {
    /// What claims are held against.
    pub fn evidence(&self) -> Evidence<'_> {
        Evidence { rows: &self.rows, fits: &self.fits }
    }

    /// What the set is called, with what it stands for.
    fn heading(&self) -> String {
        let Set { name, paper, .. } = &self.set;
        let stands = paper.as_ref().map_or_else(String::new, |paper| format!(" (the paper's {paper})"));
        format!("{name}{stands}, {} rows, {}", self.scale.rows, rounds(self.scale.rounds))
    }
}

/// Rounds in words.
pub fn rounds(count: u32) -> String {
    if count == 1 { "one round".to_owned() } else { format!("{count} rounds") }
}

/// A study's outcome as Markdown: tables, fits, verdicts.
pub fn markdown(study: &Study, outcomes: &[Outcome]) -> String {
    let mut text = format!("### {}\n\n{}\n", study.title, study.about);
    for outcome in outcomes {
        let _ = writeln!(text, "\n**{}**\n", outcome.heading());
        for note in &outcome.scale.notes {
            let _ = writeln!(text, "- scaled down: {note}");
        }
        if !outcome.scale.notes.is_empty() {
            text.push('\n');
        }
        text += &table(study, outcome);
        text += &fits(outcome);
    }
    text + &verdicts(study, outcomes)
}

/// One line a variant and place; under each measure our value, and the paper's in brackets.
fn table(study: &Study, outcome: &Outcome) -> String {
    let mut text = String::from("| variant | at |");
    for measure in &study.measures {
        let _ = write!(text, " {} |", measure.title());
    }
    let _ = write!(text, "\n| --- | --- |{}\n", " ---: |".repeat(study.measures.len()));
    let places = study.places();
    let of_index = study.measures.iter().all(|measure| measure.is_of_index());
    for &at in places.iter().take(if of_index { 1 } else { places.len() }) {
        for variant in &study.variants {
            let name = &variant.preset.name;
            if outcome.evidence().of(name).is_empty() {
                continue;
            }
            let place = if of_index { "–".to_owned() } else { at.to_string() };
            let _ = write!(text, "| {name} | {place} |");
            for &measure in &study.measures {
                let _ = write!(text, " {} |", cell(study, outcome, (name, measure, at)));
            }
            text.push('\n');
        }
    }
    text
}

/// Our value with its ratio to the first variant, and the paper's value or ratio in brackets.
fn cell(study: &Study, outcome: &Outcome, (name, measure, at): (&str, Measure, At)) -> String {
    let of = |variant: &str| value(&outcome.evidence().of(variant), measure, at);
    let first = &study.variants[0].preset.name;
    let ratio = (name != first).then(|| Some(of(name)? / of(first)?)).flatten();
    let mut text = of(name).map_or_else(|| "–".to_owned(), |value| measure.show(value));
    if let Some(ratio) = ratio.filter(|ratio| ratio.is_finite()) {
        let _ = write!(text, ", {ratio:.2} ×");
    }
    let paper = outcome.set.paper.as_ref().and_then(|set| study.paper(set, name, measure, at));
    match paper {
        Some((value, true)) => text + &format!(" (paper {value:.2} ×)"),
        Some((value, false)) => text + &format!(" (paper {})", measure.show(value)),
        None => text,
    }
}

fn fits(outcome: &Outcome) -> String {
    if outcome.fits.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n| fit | points | formula | R² |\n| --- | ---: | --- | ---: |\n");
    for fit in &outcome.fits {
        let _ = writeln!(text, "| {} | {} | {} | {:.3} |", fit.name, fit.points, fit.formula, fit.r_squared);
    }
    text
}

fn verdicts(study: &Study, outcomes: &[Outcome]) -> String {
    if study.claims.is_empty() {
        return String::new();
    }
    let mut text = String::from(
        "\n| finding | claim | paper | holds within | here | verdict |\n| ---: | --- | --- | --- | --- | --- |\n",
    );
    for claim in &study.claims {
        let finding = if claim.finding == 0 { "–".to_owned() } else { claim.finding.to_string() };
        let judged = judged(claim, outcomes);
        let here: Vec<String> = judged
            .iter()
            .map(|(set, _, value)| format!("{set} {}", crate::run_bench::optional(*value, 2)))
            .collect();
        let verdict = Verdict::all(judged.iter().map(|(_, verdict, _)| *verdict));
        let bound = |bound: f64| if bound >= 1e6 { "∞".to_owned() } else { bound.to_string() };
        let [low, high] = claim.holds;
        let _ = writeln!(
            text,
            "| {finding} | {} | {} | {low} to {} | {} | **{verdict}** |",
            claim.says,
            if claim.paper.is_empty() { "–" } else { &claim.paper },
            bound(high),
            here.join(", ")
        );
    }
    text
}

/// Verdict and value of a claim on each set it speaks of.
fn judged<'a>(claim: &super::claim::Claim, outcomes: &'a [Outcome]) -> Vec<(&'a str, Verdict, Option<f64>)> {
    let heard = outcomes.iter().filter(|outcome| claim.speaks_of(outcome.set.paper.as_deref()));
    heard
        .map(|outcome| {
            let (verdict, value) = Verdict::of(claim, outcome.evidence());
            (outcome.set.name.as_str(), verdict, value)
        })
        .collect()
}

/// The verdict of each finding over all studies that speak of it.
pub fn findings(all: &[(Study, Vec<Outcome>)]) -> String {
    let mut text =
        String::from("### Findings\n\n| finding | claims | verdict here |\n| ---: | ---: | --- |\n");
    for finding in 1..=12 {
        let claims = all.iter().flat_map(|(study, outcomes)| {
            study.claims.iter().filter(|claim| claim.finding == finding).map(move |claim| {
                Verdict::all(judged(claim, outcomes).into_iter().map(|(_, verdict, _)| verdict))
            })
        });
        let verdicts: Vec<Verdict> = claims.collect();
        if !verdicts.is_empty() {
            let verdict = Verdict::all(verdicts.iter().copied());
            let _ = writeln!(text, "| {finding} | {} | **{verdict}** |", verdicts.len());
        }
    }
    text
}

//! What came out, as Markdown: a table with the paper's figures beside ours, and verdicts.

use super::claim::Claim;
use super::line::Line;
use super::study::Study;
use crate::reproduce::Verdict;
use std::fmt::Write;

/// An experiment's outcome: where it ran, in `heading`, tables, verdicts.
pub fn markdown(study: &Study, lines: &[Line], heading: &str) -> String {
    let mut text = format!("### {}\n\n{}\n\n**{heading}**\n\n", study.title, study.about);
    text += &table(study, lines);
    if !study.claims.is_empty() {
        text += "\n| claim | paper | holds within | here | verdict |\n| --- | --- | --- | ---: | --- |\n";
        study.claims.iter().for_each(|claim| text += &verdict(claim, lines));
    }
    text
}

/// One line an arm and phase; under each measure our value, and the paper's in brackets.
fn table(study: &Study, lines: &[Line]) -> String {
    let mut text = String::from("| case | arm | phase | |");
    for measure in &study.measures {
        let _ = write!(text, " {} |", measure.title());
    }
    let _ = write!(text, "\n| --- | --- | --- | --- |{}\n", " ---: |".repeat(study.measures.len()));
    for line in lines.iter().filter(|line| study.phases.contains(&line.place.phase)) {
        let place = &line.place;
        let _ = write!(text, "| {} | {} | {} | {} |", place.case, place.arm, place.phase, line.source());
        for &measure in &study.measures {
            let own = line.value(measure).map_or_else(|| "–".to_owned(), |value| measure.show(value));
            let paper = study.paper(place, measure).map(|value| format!(" (paper {})", measure.show(value)));
            let _ = write!(text, " {own}{} |", paper.unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

fn verdict(claim: &Claim, lines: &[Line]) -> String {
    let show = |value: f64| match claim.against {
        None => claim.measure.show(value),
        Some(_) => format!("{value:.2} ×"),
    };
    let bound = |value: f64| match value {
        value if value >= 1e6 => "∞".to_owned(),
        value if value <= -1e6 => "−∞".to_owned(),
        value => show(value),
    };
    let value = claim.value(lines);
    let ([low, high], paper) = (claim.holds, if claim.paper.is_empty() { "–" } else { &claim.paper });
    format!(
        "| {} | {paper} | {} to {} | {} | **{}** |\n",
        claim.says,
        bound(low),
        bound(high),
        value.map_or_else(|| "–".to_owned(), show),
        Verdict::within(value, claim.holds, claim.partly)
    )
}

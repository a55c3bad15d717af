//! The verbs and one line about each.

/// Verbs of `gleann-bench`, in the order of a first session.
const BENCH: [(&str, &str); 14] = [
    ("demo", "Build an index over the sample in the tree, search it, show a table and a plot"),
    ("dataset", "List real data sets, or make or download one"),
    ("generate", "Write seeded synthetic vectors of any size"),
    ("ground-truth", "Find the exact neighbours of queries"),
    ("advise", "Say which preset and parameters suit vectors, memory, load and recall"),
    ("build-index", "Build a disk index over a vector file"),
    ("create-index", "Make an empty live index"),
    (
        "update",
        "Insert, replace and delete vectors of a live index; make an index live; settle, compact or copy one",
    ),
    ("check-index", "Verify everything in an index that can be verified"),
    ("convert", "Convert data sets of other benchmarks, and vector files into other forms"),
    ("export-csv", "Write results as CSV with the columns of big-ann-benchmarks"),
    ("export-diskann", "Write an index as a DiskANN disk index"),
    (
        "run-bench",
        "Measure an index, presets, an experiment, a runbook, `updates`, `churn`, this disk (`device`), the peers or the studies (`reproduce`)",
    ),
    ("plot", "Draw results: recall against throughput, latency and reads"),
];

const TIDY: (&str, &str) = ("tidy", "Check the house rules that a machine can check");

/// Whether `gleann-bench` has this verb.
pub fn is_known(verb: &str) -> bool {
    BENCH.iter().any(|(name, _)| *name == verb)
}

/// The text of `cargo xtask --help`.
pub fn overview() -> String {
    let mut text = String::from("Usage: cargo xtask VERB [ARGUMENTS]\n\nVerbs:\n");
    for (name, line) in BENCH.iter().chain([&TIDY]) {
        text.push_str(&format!("  {name:<14} {line}\n"));
    }
    text.push_str("\n`cargo xtask VERB --help` explains a verb.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_verb_has_its_line() {
        let text = overview();
        for (name, line) in BENCH.iter().chain([&TIDY]) {
            assert!(text.contains(line) && text.contains(name));
        }
        assert!(is_known("run-bench") && !is_known("tidy") && !is_known("bench"));
    }
}

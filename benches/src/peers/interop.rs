//! `run-bench peers --interop`: one graph, searched by both programs in both forms. Recall and reads must agree.

use super::command::PeersArgs;
use super::contender::{Contender, Plan, Workload, run_own};
use crate::row::Row;
use anyhow::{Context, Result, bail};
use gleann::SearchKind;
use gleann_storage::IndexDirectory;
use std::path::Path;

/// How far recall may be apart, and how many more reads may be made, of their number. Codes differ in a few bytes of a
/// million, where two centroids are equally near but for rounding; ties are broken in other ways. Fewer reads are no
/// difference: gleann reads a page once where two candidates of a round share it.
const RECALL: f64 = 0.002;
const READS: f64 = 0.02;

/// Imports diskannpy's index, exports it again (and gleann's own, if there is one), searches everything with both, and
/// prints recall and reads side by side.
///
/// # Errors
/// A step fails, or recall or reads of one graph differ.
pub fn run(diskannpy: &Contender, workload: &Workload, args: &PeersArgs, work: &Path) -> Result<()> {
    println!("diskannpy: building its index unless it is there …");
    diskannpy.build(workload)?;
    let (imported, exported) = (work.join("imported"), work.join("exported"));
    if !IndexDirectory::is_index(&imported) {
        let prefix = work.join("diskannpy").join("ann");
        run_own(&[
            "build-index".as_ref(),
            "--from-diskann".as_ref(),
            prefix.as_ref(),
            "--out".as_ref(),
            imported.as_ref(),
        ])?;
    }
    export(&imported, &exported)?;
    let mut systems = vec![vec![
        ("diskannpy, its own", diskannpy.clone()),
        ("gleann, imported", Contender::gleann(work, Some(imported), SearchKind::Beam)),
        ("diskannpy, exported", diskannpy.at(exported)),
    ]];
    if let Some(index) = &args.index {
        let exported = work.join("exported-own");
        export(index, &exported)?;
        systems.push(vec![
            ("diskannpy, exported", diskannpy.at(exported)),
            ("gleann, its own", Contender::gleann(work, Some(index.clone()), SearchKind::Beam)),
        ]);
    }
    println!("\n{:<22} {:>5} {:>8} {:>7}", "search, index", "list", "recall", "reads");
    let mut apart = Vec::new();
    for forms in &systems {
        let plan = Plan { lists: args.list.clone(), concurrency: 1, one_at_a_time: false };
        let rows =
            forms.iter().map(|(_, system)| system.search(workload, &plan)).collect::<Result<Vec<_>>>()?;
        for ((name, _), rows) in forms.iter().zip(&rows) {
            print_rows(name, rows);
        }
        for ((name, _), found) in forms.iter().zip(&rows).skip(1) {
            apart.extend(differences(forms[0].0, &rows[0], name, found));
        }
    }
    if apart.is_empty() {
        println!("\nrecall and reads agree");
        return Ok(());
    }
    bail!("the same graph does not give the same results:\n{}", apart.join("\n"))
}

/// Exports an index into a folder of its own, with the record that a search of diskannpy wants.
fn export(index: &Path, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot make folder {}", folder.display()))?;
    run_own(&[
        "export-diskann".as_ref(),
        index.as_ref(),
        folder.join("ann").as_ref(),
        "--overwrite".as_ref(),
    ])?;
    let record = folder.join("build.json");
    std::fs::write(&record, "{}").with_context(|| format!("cannot write {}", record.display()))
}

fn print_rows(name: &str, rows: &[Row]) {
    for row in rows {
        let reads = row.cost.reads_per_query.unwrap_or(f64::NAN);
        println!("{name:<22} {:>5} {:>8.4} {reads:>7.2}", row.list, row.recall);
    }
}

fn differences(one: &str, expected: &[Row], other: &str, found: &[Row]) -> Vec<String> {
    let differ = |expected: &Row, found: &Row| {
        let reads = [expected, found].map(|row| row.cost.reads_per_query.unwrap_or(f64::NAN));
        let far = (expected.recall - found.recall).abs() > RECALL;
        let more = reads[1] > (1.0 + READS) * reads[0];
        (far || more || reads.iter().any(|reads| reads.is_nan())).then(|| {
            format!(
                "L = {}: recall {:.4} and {:.2} reads with {one}, {:.4} and {:.2} with {other}",
                expected.list, expected.recall, reads[0], found.recall, reads[1]
            )
        })
    };
    expected.iter().zip(found).filter_map(|(expected, found)| differ(expected, found)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(recall: f64, reads: f64) -> Row {
        let mut row = Row { list: 40, recall, ..Row::default() };
        row.cost.reads_per_query = Some(reads);
        row
    }

    #[test]
    fn what_is_apart_is_told() {
        let base = [row(0.95, 50.0)];
        assert_eq!(differences("a", &base, "b", &[row(0.951, 50.9)]), [""; 0]);
        assert!(
            differences("a", &base, "b", &[row(0.947, 50.0)])[0].contains("0.9500 and 50.00 reads with a")
        );
        assert_eq!(differences("a", &base, "b", &[row(0.95, 51.1)]).len(), 1);
        assert_eq!(differences("a", &base, "b", &[row(0.95, 30.0)]), [""; 0]);
        assert_eq!(
            differences("a", &base, "b", &[Row { list: 40, recall: 0.95, ..Row::default() }]).len(),
            1
        );
    }
}

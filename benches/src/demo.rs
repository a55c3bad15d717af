//! `demo`: the samples in the repository, built, checked, searched, drawn and explained.

use crate::build_index::seconds;
use crate::dataset::{SetFiles, sample};
use crate::plot::write_figure;
use crate::progress::Console;
use crate::row::Row;
use crate::run_bench::{Job, Load, points, run_job};
use crate::sweep::{OpenAxes, SearchAxes, SearchPoint, Sweep};
use anyhow::{Context, Result, bail};
use gleann::{BuildOptions, BuildReport, SearchKind, Width, bytes};
use gleann_vector::VectorFile;
use std::path::{Path, PathBuf};

/// Searches a core interleaves when throughput is asked for.
const MANY: u32 = 16;
/// Throughput of many searches by that of one a core, below which something else was the limit.
const GAIN: f64 = 1.25;
/// Recall at which the explanation looks.
const TARGET: f64 = 0.95;

/// Build an index over the samples in the repository, search it, show a table and a plot.
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Folder for indexes, results and plots; kept, so that they can be looked at
    #[arg(long, default_value = "results/demo", value_name = "DIR")]
    out: PathBuf,
}

/// Runs the verb.
///
/// # Errors
/// The folder cannot be written, or building or searching fails.
pub fn run(args: DemoArgs) -> Result<()> {
    std::fs::create_dir_all(&args.out).with_context(|| format!("making {}", args.out.display()))?;
    for (name, about) in [
        ("sift-sample", "20 000 SIFT descriptors of photographs, 128 × u8"),
        ("glove-sample", "5 000 GloVe word vectors, 100 × f32"),
    ] {
        println!("── {name}: {about}\n");
        show(name, &sample(name)?, &args.out)?;
    }
    Ok(())
}

fn show(name: &str, files: &SetFiles, out: &Path) -> Result<()> {
    let index = out.join(format!("{name}.index"));
    let report = build(files, &index)?;
    let rows = search(name, files, out)?;
    let (svg, html) = (out.join(format!("{name}.svg")), out.join(format!("{name}.html")));
    write_figure(&rows, &format!("gleann on {name}"), &svg)?;
    write_figure(&rows, &format!("gleann on {name}"), &html)?;
    println!("\n{}\n", explain(&report, &rows));
    println!("plot: {} (picture), {} (page with all numbers)\n", svg.display(), html.display());
    Ok(())
}

fn build(files: &SetFiles, index: &Path) -> Result<BuildReport> {
    let source = VectorFile::open(&files.base)?;
    let options = BuildOptions { metric: files.metric, ..BuildOptions::default() };
    let progress = Console::start(false);
    let built = gleann::build(&source, index, &options, &progress);
    let checked = gleann::check_index(index, &progress);
    progress.end();
    let report = built
        .with_context(|| format!("building {}; remove it if another version has made it", index.display()))?;
    let check = checked?;
    if let Some(problem) = check.problems.first() {
        bail!("{}: {problem} (and {} more)", index.display(), check.problem_count - 1);
    }
    println!(
        "built in {} ({} of processor time), checked: {} records, {} in all, degree {:.1} on average\n",
        seconds(report.seconds),
        seconds(report.cpu_seconds),
        check.records,
        bytes(report.members.values().sum()),
        report.mean_degree
    );
    Ok(report)
}

/// One query at a time, then many, with both traversals.
fn search(name: &str, files: &SetFiles, out: &Path) -> Result<Vec<Row>> {
    let results = out.join(format!("{name}.jsonl"));
    if results.exists() {
        std::fs::remove_file(&results).with_context(|| format!("replacing {}", results.display()))?;
    }
    let mut rows = Vec::new();
    for (search, width) in [(SearchKind::Beam, Width::Fixed(4)), (SearchKind::Pipe, Width::DYNAMIC)] {
        let sweep = Sweep {
            open: OpenAxes { in_flight: vec![1, MANY], ..OpenAxes::default() },
            search: SearchAxes { list: vec![10, 20, 40, 80], ..SearchAxes::default() },
            search_base: SearchPoint { search, width, ..SearchPoint::default() },
            ..Sweep::default()
        };
        rows.extend(run_job(&Job {
            about: None,
            index: out.join(format!("{name}.index")),
            query: files.query.clone(),
            truth: files.truth.clone(),
            out: Some(results.clone()),
            k: 10,
            rounds: 1,
            points: points(name, &sweep),
            expectations: Vec::new(),
            load: Load::Closed,
            seconds: 0.25,
            queries: None,
            // A demonstration has to work wherever it is; a warning says what the numbers are worth then.
            allow_buffered: true,
        })?);
    }
    Ok(rows)
}

/// The cheapest row of a traversal that reaches `recall`, or its best.
fn reaching(rows: &[Row], search: SearchKind, in_flight: u32) -> Option<&Row> {
    let of: Vec<&Row> =
        rows.iter().filter(|row| row.search == search.to_string() && row.in_flight == in_flight).collect();
    let enough = of.iter().filter(|row| row.recall >= TARGET).min_by_key(|row| row.list).copied();
    enough.or_else(|| of.into_iter().max_by(|a, b| a.recall.total_cmp(&b.recall)))
}

/// What was seen, in words.
fn explain(report: &BuildReport, rows: &[Row]) -> String {
    let found = (
        reaching(rows, SearchKind::Beam, 1),
        reaching(rows, SearchKind::Beam, MANY),
        reaching(rows, SearchKind::Pipe, 1),
    );
    let (Some(alone), Some(many), Some(pipe)) = found else {
        return "nothing was measured".to_owned();
    };
    let code_bytes = report.parameters.get("pq_bytes").and_then(|count| count.parse::<u64>().ok());
    let way = if many.direct == Some(true) {
        "read from the disk itself, past the page cache"
    } else {
        "read through the page cache here, so its times say little about a disk"
    };
    let parts = [
        format!(
            "What was seen: memory holds {} of codes; vectors and graph stay in files of {}, {way}.",
            bytes(report.rows * code_bytes.unwrap_or(0)),
            bytes(report.members.values().sum())
        ),
        explain_alone(alone),
        explain_many(alone, many),
        format!(
            "PipeSearch does not wait for whole rounds of reads: at list {} it reached {:.1} % in {:.2} ms with {:.0} \
             reads. Longer lists find more and read more; the plot shows the exchange.",
            pipe.list,
            100.0 * pipe.recall,
            milliseconds(pipe),
            pipe.cost.reads_per_query.unwrap_or(0.0)
        ),
    ];
    parts.join(" ")
}

fn explain_alone(row: &Row) -> String {
    format!(
        "With a candidate list of {}, BeamSearch found {:.1} % of the ten true neighbours of a query with {:.0} reads. A \
         query that has a core to itself took {:.2} ms, {:.0} % of it waiting for reads.",
        row.list,
        100.0 * row.recall,
        row.cost.reads_per_query.unwrap_or(0.0),
        milliseconds(row),
        100.0 * row.cost.stall_share.unwrap_or(0.0)
    )
}

fn explain_many(alone: &Row, many: &Row) -> String {
    let cost = format!(
        "{:.0} queries a second, at {:.2} ms each and {:.0} µs of processor time",
        many.qps,
        milliseconds(many),
        many.cost.cpu_us_per_query.unwrap_or(0.0)
    );
    let cores = many.threads;
    if many.qps > GAIN * alone.qps {
        return format!(
            "{MANY} queries interleaved on each of {cores} cores fill that time: instead of {:.0} there are {cost}.",
            alone.qps
        );
    }
    format!(
        "{MANY} queries interleaved on each of {cores} cores should fill that time, yet instead of {:.0} there are {cost}: \
         reads came no faster than {:.0} a second, because the disk or the processors had enough to do already \
         (`cargo xtask run-bench device` tells what this disk can do).",
        alone.qps,
        many.cost.device_iops.unwrap_or(0.0)
    )
}

fn milliseconds(row: &Row) -> f64 {
    row.latency.mean.unwrap_or(0.0) / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_that_does_not_grow_is_not_called_a_gain() {
        let row = |qps: f64| Row { qps, threads: 2, ..Row::default() };
        assert!(explain_many(&row(1000.0), &row(4000.0)).contains("fill that time: instead of 1000"));
        assert!(explain_many(&row(1000.0), &row(900.0)).contains("enough to do"));
    }

    #[test]
    fn the_cheapest_row_that_reaches_the_target_is_explained() {
        let row = |list: u32, recall: f64| Row {
            search: "beam".into(),
            in_flight: 1,
            list,
            recall,
            ..Row::default()
        };
        let rows = [row(80, 0.99), row(40, 0.96), row(20, 0.9)];
        assert_eq!(reaching(&rows, SearchKind::Beam, 1).map(|row| row.list), Some(40));
        assert_eq!(reaching(&rows[2..], SearchKind::Beam, 1).map(|row| row.list), Some(20));
        assert!(reaching(&rows, SearchKind::Pipe, 1).is_none());
    }
}

//! `export-csv`: results with the column names of big-ann-benchmarks, whose plots then work on them.

use crate::row::{Row, read_rows};
use anyhow::{Context, Result, ensure};
use std::path::PathBuf;

/// Columns of the official export.
const COLUMNS: [&str; 12] = [
    "algorithm",
    "parameters",
    "dataset",
    "count",
    "qps",
    "distcomps",
    "build",
    "indexsize",
    "mean_ssd_ios",
    "mean_latency",
    "track",
    "recall/ap",
];

/// Write results as CSV with the columns of big-ann-benchmarks.
///
/// What a line does not know stays empty. Latencies are in microseconds, the build in seconds, the size of an index in
/// kilobytes of 1000 bytes.
#[derive(Debug, clap::Args)]
pub struct CsvArgs {
    /// Result files, one JSON object a line, as `run-bench --out` writes them
    #[arg(required = true)]
    results: Vec<PathBuf>,
    /// File to write
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The data set's name in the table
    #[arg(long, default_value = "unknown")]
    dataset: String,
    /// The track's name in the table
    #[arg(long, default_value = "none")]
    track: String,
}

/// Runs the verb.
///
/// # Errors
/// A file cannot be read or written, or holds no results.
pub fn run(args: CsvArgs) -> Result<()> {
    let mut rows = Vec::new();
    for path in &args.results {
        rows.extend(read_rows(path)?);
    }
    ensure!(!rows.is_empty(), "nothing to export: the result files hold no lines");
    std::fs::write(&args.out, table(&rows, &args.dataset, &args.track))
        .with_context(|| format!("cannot write {}", args.out.display()))?;
    println!("wrote {} ({} results)", args.out.display(), rows.len());
    Ok(())
}

fn table(rows: &[Row], dataset: &str, track: &str) -> String {
    let mut text = COLUMNS.join(",") + "\n";
    for row in rows {
        let fields = fields(row, dataset, track);
        text.push_str(&fields.map(|field| quoted(&field)).join(","));
        text.push('\n');
    }
    text
}

fn fields(row: &Row, dataset: &str, track: &str) -> [String; 12] {
    let known = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    let build = |name: &str| row.environment.build.as_ref().and_then(|build| build.get(name)?.as_f64());
    let seconds = build("seconds").or(build("build_seconds"));
    let members = row.environment.build.as_ref().and_then(|build| build.get("members")?.as_object());
    let bytes = members.map(|members| members.values().filter_map(serde_json::Value::as_f64).sum::<f64>());
    [
        row.preset.clone(),
        parameters(row),
        dataset.into(),
        row.k.to_string(),
        row.qps.to_string(),
        known(row.cost.comparisons_per_query),
        known(seconds),
        known(bytes.map(|bytes| bytes / 1000.0)),
        known(row.cost.reads_per_query),
        known(row.latency.mean),
        track.into(),
        row.recall.to_string(),
    ]
}

/// What tells a row from the others of its preset.
fn parameters(row: &Row) -> String {
    let width = row.width.map_or(String::new(), |width| format!(" width={width}"));
    format!("{} list={}{width} threads={} in_flight={}", row.search, row.list, row.threads, row.in_flight)
}

/// A field as CSV (RFC 4180).
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_those_of_big_ann() {
        let line = r#"{"preset":"my,own","search":"beam","width":4,"list":40,"k":10,"threads":2,"in_flight":8,
            "recall":0.95,"qps":1234.5,"latency_us_mean":800.0,"reads_per_query":51.5,"comparisons_per_query":2000.0,
            "build":{"seconds":12.5,"members":{"graph.gln":4096,"pq.codes":904}}}"#;
        let row: Row = serde_json::from_str(line).unwrap();
        let text = table(&[row, Row::default()], "sift \"500k\"", "none");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[0],
            "algorithm,parameters,dataset,count,qps,distcomps,build,indexsize,mean_ssd_ios,mean_latency,track,recall/ap"
        );
        assert_eq!(
            lines[1],
            "\"my,own\",beam list=40 width=4 threads=2 in_flight=8,\"sift \"\"500k\"\"\",10,1234.5,2000,12.5,5,51.5,800,none,0.95"
        );
        assert!(lines[2].ends_with(",0,0,,,,,,none,0"), "{}", lines[2]);
    }
}

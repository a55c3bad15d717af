//! One result: a JSON line that can be read on its own, years later, on another machine. Peers fill in what they
//! know; what a system cannot tell is absent rather than zero.

use crate::sweep::width_form;
use anyhow::{Context, Result};
use gleann::Width;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, Write};
use std::path::Path;

/// A measured point: parameters, what was found, what it cost, and where it ran. Medians over the rounds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Row {
    /// Name of the system or preset.
    pub preset: String,
    /// Traversal: `beam`, `pipe`, or a peer's own word.
    pub search: String,
    /// Reads in flight of one search.
    #[serde(with = "width_form", skip_serializing_if = "Option::is_none")]
    pub width: Option<Width>,
    /// Where it begins: `medoid` or `memgraph:LIST-POINTS`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub entry: String,
    /// What of a page it uses: `record` or `page:PERCENT`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub expansion: String,
    /// When it ends: `exhausted` or `bound:PERCENT`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stop: String,
    /// Records held in memory: `none`, or a policy and its budget.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cache: String,
    /// Candidate list length, L (`ef` elsewhere).
    pub list: u32,
    /// Neighbours asked for.
    pub k: u32,
    /// Searching threads.
    pub threads: u32,
    /// Searches interleaved per thread.
    pub in_flight: u32,
    /// I/O engine that really ran.
    pub engine: String,
    /// Whether reads went past the page cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub direct: Option<bool>,
    /// Rounds the medians are taken over.
    pub rounds: u32,
    /// Queries a round.
    pub queries: u64,
    /// Offered load in queries a second; absent in a closed loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<f64>,

    /// Recall by ids, ties at rank k counted as found (big-ann).
    pub recall: f64,
    /// Recall by distances within a relative tolerance.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall_distance: Option<f64>,
    /// How often the true nearest neighbour is among the k found (1@k).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recall_1_at_k: Option<f64>,
    /// Queries a second.
    pub qps: f64,
    /// Slowest round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qps_min: Option<f64>,
    /// Fastest round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qps_max: Option<f64>,
    /// Latency of a query, in microseconds: from its start to its end, or, with an offered load, from the moment at
    /// which it was meant to arrive, so that queueing counts.
    #[serde(flatten)]
    pub latency: Latency,
    /// [`Cost::idle_share`] of each core.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub idle_share_by_core: Vec<f64>,
    /// What a query cost.
    #[serde(flatten)]
    pub cost: Cost,
    /// What it was measured on.
    #[serde(flatten)]
    pub place: Place,
    /// Where it ran and on what.
    #[serde(flatten)]
    pub environment: Environment,
}

/// Latency percentiles in microseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Latency {
    /// Mean.
    #[serde(rename = "latency_us_mean", skip_serializing_if = "Option::is_none")]
    pub mean: Option<f64>,
    /// Median.
    #[serde(rename = "latency_us_p50", skip_serializing_if = "Option::is_none")]
    pub p50: Option<f64>,
    /// 95th percentile.
    #[serde(rename = "latency_us_p95", skip_serializing_if = "Option::is_none")]
    pub p95: Option<f64>,
    /// 99th percentile.
    #[serde(rename = "latency_us_p99", skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// 99.9th percentile.
    #[serde(rename = "latency_us_p999", skip_serializing_if = "Option::is_none")]
    pub p999: Option<f64>,
}

impl Latency {
    /// The percentiles of single latencies (nearest rank), which are sorted on the way; nothing of none.
    pub fn of(latencies_us: &mut [f64]) -> Self {
        latencies_us.sort_by(f64::total_cmp);
        let count = latencies_us.len();
        let at = |share: f64| {
            let rank = (share * count as f64).ceil() as usize;
            latencies_us.get(rank.clamp(1, count.max(1)) - 1).copied()
        };
        let mean = latencies_us.iter().sum::<f64>() / count as f64;
        let mean = (count > 0).then_some(mean);
        Self { mean, p50: at(0.5), p95: at(0.95), p99: at(0.99), p999: at(0.999) }
    }
}

/// Cost of the average query, and of the process.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cost {
    /// Reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reads_per_query: Option<f64>,
    /// Pages read, of the index's page size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pages_per_query: Option<f64>,
    /// Bytes read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_query: Option<f64>,
    /// Rounds of reads (beam), nodes expanded (pipe).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hops_per_query: Option<f64>,
    /// Vertices expanded: H of the I/O model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expanded_per_query: Option<f64>,
    /// Records that were held in memory and not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_hits_per_query: Option<f64>,
    /// Approximate distances computed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparisons_per_query: Option<f64>,
    /// Share of a search's time in which it waited for reads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stall_share: Option<f64>,
    /// Share of the time in which a core waited for reads with nothing else to do, mean over the cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_share: Option<f64>,
    /// Processor time of the whole process, user and kernel, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_us_per_query: Option<f64>,
    /// The part of it that searches report: their own work, without the kernel's part of reads, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search_cpu_us_per_query: Option<f64>,
    /// Resident memory of the process after the round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rss_bytes: Option<u64>,
    /// Reads a second that the device served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_iops: Option<f64>,
}

/// The index as it lies on the disk and in memory, and what its build took.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Place {
    /// How records are packed into pages.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub packing: String,
    /// Where codes are: `memory`, `record` or `off`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub codes: String,
    /// Records a page: n_p of the I/O model; below 1 where a record takes several pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub records_per_page: Option<f64>,
    /// OR(G) of the I/O model; absent with one record a block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overlap_ratio: Option<f64>,
    /// Mean number of neighbours.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_degree: Option<f64>,
    /// Bytes of all files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// Bytes of memory that the open index shares among its searches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
    /// Wall-clock seconds of its build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_seconds: Option<f64>,
    /// Processor seconds of its build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_cpu_seconds: Option<f64>,
    /// Peak resident memory of its build.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_peak_bytes: Option<u64>,
}

/// What a number cannot be read without.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Environment {
    /// Revision of the measured code, or `unknown`.
    pub git: String,
    /// Kernel release.
    pub kernel: String,
    /// File system the index lies on.
    pub file_system: String,
    /// Model of the processor.
    pub cpu: String,
    /// Cores this process may run on.
    pub cores: u32,
    /// Instruction set of the distance kernels.
    pub cpu_path: String,
    /// One-minute load average when the measurement began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_average: Option<f64>,
    /// Seed the index was built with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Parameters the index was built with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build: Option<serde_json::Value>,
}

impl Row {
    /// Reads in flight as text: `4`, `dynamic:4-32`, or `-` where the system has no such knob.
    pub fn width_name(&self) -> String {
        self.width.map_or_else(|| "-".to_owned(), |width| width.to_string())
    }
}

/// Rows of the same point in several rounds as one: every number is the median over the rounds.
pub fn median_row(rounds: &[Row]) -> Option<Row> {
    let first = rounds.first()?;
    let records: Vec<serde_json::Value> =
        rounds.iter().map(|row| serde_json::to_value(row).expect("a row is plain data")).collect();
    let mut merged = records[0].clone();
    for (key, value) in merged.as_object_mut()? {
        let mut numbers: Vec<f64> = records.iter().filter_map(|record| record.get(key)?.as_f64()).collect();
        // Counts and names are the same in every round, or mean nothing in between.
        if value.is_f64() && !numbers.is_empty() {
            *value = median(&mut numbers).into();
        }
    }
    let mut row: Row = serde_json::from_value(merged).expect("the same fields as before");
    let speeds = || rounds.iter().map(|row| row.qps);
    row.qps_min = speeds().min_by(f64::total_cmp);
    row.qps_max = speeds().max_by(f64::total_cmp);
    for (core, share) in row.idle_share_by_core.iter_mut().enumerate() {
        let mut shares: Vec<f64> =
            rounds.iter().filter_map(|row| row.idle_share_by_core.get(core).copied()).collect();
        *share = median(&mut shares);
    }
    row.rounds = rounds.len() as u32;
    row.cost.rss_bytes = rounds.iter().filter_map(|row| row.cost.rss_bytes).max();
    row.queries = first.queries;
    Some(row)
}

/// The middle value, or the mean of the two middle ones.
///
/// # Panics
/// If there are none.
pub fn median(numbers: &mut [f64]) -> f64 {
    assert!(!numbers.is_empty(), "median of nothing");
    numbers.sort_by(f64::total_cmp);
    let middle = numbers.len() / 2;
    if numbers.len().is_multiple_of(2) {
        (numbers[middle - 1] + numbers[middle]) / 2.0
    } else {
        numbers[middle]
    }
}

/// Reads result lines; blank lines are skipped.
///
/// # Errors
/// The file cannot be read, or a line is not a result; the message names file and line.
pub fn read_rows(path: &Path) -> Result<Vec<Row>> {
    let file =
        std::fs::File::open(path).with_context(|| format!("cannot open results {}", path.display()))?;
    let mut rows = Vec::new();
    for (index, line) in std::io::BufReader::new(file).lines().enumerate() {
        let line = line.with_context(|| format!("cannot read {}", path.display()))?;
        if !line.trim().is_empty() {
            rows.push(parse_row(&line).with_context(|| format!("{}, line {}", path.display(), index + 1))?);
        }
    }
    Ok(rows)
}

/// Reads one result line.
///
/// # Errors
/// It is not JSON, or lacks recall or throughput within their ranges.
pub fn parse_row(line: &str) -> Result<Row> {
    let row: Row =
        serde_json::from_str(line).context("not a result line (expected one JSON object a line)")?;
    anyhow::ensure!((0.0..=1.0).contains(&row.recall), "`recall` is {}, expected 0 to 1", row.recall);
    anyhow::ensure!(row.qps.is_finite() && row.qps > 0.0, "`qps` is {}, expected a positive number", row.qps);
    Ok(row)
}

/// Appends rows to a results file, one line each; makes its folder.
///
/// # Errors
/// The file cannot be written.
pub fn append_rows(path: &Path, rows: &[Row]) -> Result<()> {
    append_lines(path, rows)
}

/// Appends records of any kind to a results file, as [`append_rows`] does.
///
/// # Errors
/// The file cannot be written.
pub fn append_lines<R: Serialize>(path: &Path, records: &[R]) -> Result<()> {
    let write = || -> std::io::Result<()> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        let mut file = std::io::BufWriter::new(file);
        for record in records {
            writeln!(file, "{}", serde_json::to_string(record)?)?;
        }
        file.flush()
    };
    write().with_context(|| format!("cannot write results to {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_become_medians() {
        let round = |qps: f64, rss: u64| Row {
            preset: "gleann".into(),
            list: 40,
            recall: 0.9,
            qps,
            latency: Latency { mean: Some(qps / 2.0), ..Latency::default() },
            cost: Cost { rss_bytes: Some(rss), ..Cost::default() },
            ..Row::default()
        };
        let row = median_row(&[round(300.5, 7), round(100.5, 9), round(200.5, 8)]).unwrap();
        assert_eq!((row.qps, row.qps_min, row.qps_max, row.rounds), (200.5, Some(100.5), Some(300.5), 3));
        assert_eq!((row.latency.mean, row.cost.rss_bytes, row.list), (Some(100.25), Some(9), 40));
        assert_eq!(median(&mut [4.0, 1.0]), 2.5);
        assert_eq!(median_row(&[]), None);
    }

    #[test]
    fn percentiles_are_nearest_ranks() {
        let mut numbers: Vec<f64> = (1..=1000).rev().map(f64::from).collect();
        let latency = Latency::of(&mut numbers);
        assert_eq!((latency.mean, latency.p50, latency.p95), (Some(500.5), Some(500.0), Some(950.0)));
        assert_eq!((latency.p99, latency.p999), (Some(990.0), Some(999.0)));
        assert_eq!(Latency::of(&mut [7.0]).p999, Some(7.0));
        assert_eq!(Latency::of(&mut []), Latency::default());
    }

    #[test]
    fn lines_round_trip_and_bad_ones_are_named() {
        let row = Row {
            preset: "gleann".into(),
            width: Some(Width::Fixed(4)),
            recall: 0.95,
            qps: 1000.0,
            latency: Latency { p999: Some(3.5), ..Latency::default() },
            cost: Cost { rss_bytes: Some(7), ..Cost::default() },
            ..Row::default()
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/results.jsonl");
        append_rows(&path, std::slice::from_ref(&row)).unwrap();
        append_rows(&path, std::slice::from_ref(&row)).unwrap();
        assert_eq!(read_rows(&path).unwrap(), [row.clone(), row]);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains("\"latency_us_p999\":3.5") && !text.contains("latency_us_p50"), "{text}");

        std::fs::write(&path, "{\"recall\":0.5,\"qps\":1}\n\nnonsense\n").unwrap();
        assert!(format!("{:#}", read_rows(&path).unwrap_err()).contains("line 3"));
        assert!(parse_row("{\"recall\":95.0,\"qps\":1}").is_err());
        assert!(parse_row("{\"recall\":0.9}").is_err());
    }
}

//! What the disk can do: random reads at growing depth, through the engine's own reads and, where it is installed,
//! through fio. A search result is read against this limit.

use super::facts::machine;
use super::fio;
use crate::row::{Environment, append_lines};
use anyhow::{Context, Result, ensure};
use gleann::parse_bytes;
use gleann::{DeviceFigures, DeviceLoad, EngineChoice, measure_device};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::Serialize;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::NamedTempFile;

/// Bytes written at a time.
const CHUNK: usize = 4 << 20;

/// Arguments of `run-bench device`.
#[derive(Debug, clap::Args)]
pub struct DeviceArgs {
    /// Folder on the disk in question; a scratch file is made there and removed afterwards
    #[arg(long, value_name = "DIR")]
    dir: PathBuf,
    /// Size of the scratch file; should exceed any cache of the disk
    #[arg(long, default_value = "1GiB", value_parser = parse_bytes)]
    size: u64,
    /// Reads in flight, all threads together
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8, 16, 32, 64, 128])]
    depth: Vec<usize>,
    /// Reading threads; 0 is one per core
    #[arg(long, default_value_t = 0)]
    threads: usize,
    /// Bytes a read, a multiple of 4096
    #[arg(long, default_value_t = 4096)]
    read_bytes: u32,
    /// What reads: glommio, pool or mmap
    #[arg(long, default_value_t = EngineChoice::Glommio)]
    engine: EngineChoice,
    /// Seconds a depth
    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
    /// Leave fio out even if it is installed
    #[arg(long)]
    no_fio: bool,
    /// File that result lines are appended to
    #[arg(long)]
    out: Option<PathBuf>,
}

/// One measured depth, as a result line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DeviceRow {
    /// `gleann` or `fio`.
    pub system: &'static str,
    /// What read: an engine of gleann, or an ioengine of fio.
    pub engine: String,
    /// Reads in flight, all threads together.
    pub depth: usize,
    /// Reading threads.
    pub threads: usize,
    /// Bytes a read.
    pub read_bytes: u32,
    /// Whether reads went past the page cache.
    pub direct: bool,
    /// Reads a second.
    pub device_iops: f64,
    /// Median latency in microseconds.
    pub latency_us_p50: f64,
    /// 99th percentile.
    pub latency_us_p99: f64,
    /// Processor time a read, user and kernel, in microseconds.
    pub cpu_us_per_read: f64,
    /// Bytes of the file that was read.
    pub file_bytes: u64,
    /// Where it ran.
    #[serde(flatten)]
    pub environment: Environment,
}

/// Runs the verb.
///
/// # Errors
/// The scratch file cannot be written or read, or fio fails.
pub fn run(args: DeviceArgs) -> Result<()> {
    check(&args)?;
    let scratch = write_scratch(&args.dir, args.size)?;
    let fio = if args.no_fio { None } else { fio::version() };
    println!(
        "{:<7} {:<9} {:>5} {:>7} {:>10} {:>9} {:>9} {:>12}",
        "system", "engine", "depth", "threads", "reads/s", "p50 µs", "p99 µs", "CPU µs/read"
    );
    let mut told = None;
    for &depth in &args.depth {
        let load = load(&args, depth);
        let figures = measure_device(scratch.path(), &load)
            .with_context(|| format!("reading {}", scratch.path().display()))?;
        if figures.warning.is_some() && figures.warning != told {
            told = figures.warning.clone();
            eprintln!("warning: {}", told.as_deref().unwrap_or_default());
        }
        show(&args, &own_row(&args, &load, &figures))?;
        if fio.is_some() {
            let mut row = fio::measure(scratch.path(), &load)?;
            row.environment = Environment { file_system: figures.file_system, ..machine() };
            show(&args, &DeviceRow { file_bytes: args.size, ..row })?;
        }
    }
    match fio {
        Some(version) => println!("compared with {version}"),
        None if args.no_fio => {}
        None => println!("fio is not installed: these are the figures of gleann's own reads alone"),
    }
    Ok(())
}

fn check(args: &DeviceArgs) -> Result<()> {
    ensure!(!args.depth.contains(&0), "--depth 0: expected at least one read in flight");
    ensure!(
        args.seconds > 0.0 && args.seconds < 3600.0,
        "--seconds: expected more than 0, less than an hour"
    );
    ensure!(
        args.size >= u64::from(args.read_bytes),
        "--size {}: expected at least one read of {} bytes",
        args.size,
        args.read_bytes
    );
    Ok(())
}

fn load(args: &DeviceArgs, depth: usize) -> DeviceLoad {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = if args.threads == 0 { cores } else { args.threads };
    DeviceLoad {
        engine: args.engine,
        read_bytes: args.read_bytes,
        depth,
        threads: threads.clamp(1, depth),
        duration: Duration::from_secs_f64(args.seconds),
    }
}

fn own_row(args: &DeviceArgs, load: &DeviceLoad, figures: &DeviceFigures) -> DeviceRow {
    let at = |share: f64| {
        let rank = (share * figures.latencies_ns.len() as f64).ceil() as usize;
        figures.latencies_ns.get(rank.max(1) - 1).map_or(f64::NAN, |&ns| ns as f64 / 1e3)
    };
    DeviceRow {
        system: "gleann",
        engine: args.engine.to_string(),
        depth: load.depth,
        threads: load.threads,
        read_bytes: load.read_bytes,
        direct: figures.direct,
        device_iops: figures.iops,
        latency_us_p50: at(0.5),
        latency_us_p99: at(0.99),
        cpu_us_per_read: figures.cpu_us_per_read,
        file_bytes: args.size,
        environment: Environment { file_system: figures.file_system.clone(), ..machine() },
    }
}

fn show(args: &DeviceArgs, row: &DeviceRow) -> Result<()> {
    println!(
        "{:<7} {:<9} {:>5} {:>7} {:>10.0} {:>9.1} {:>9.1} {:>12.2}",
        row.system,
        row.engine,
        row.depth,
        row.threads,
        row.device_iops,
        row.latency_us_p50,
        row.latency_us_p99,
        row.cpu_us_per_read
    );
    args.out.as_ref().map_or(Ok(()), |out| append_lines(out, std::slice::from_ref(row)))
}

/// A file of random bytes, on the medium: holes and zeros would be answered without it. Removed when dropped.
fn write_scratch(dir: &Path, size: u64) -> Result<NamedTempFile> {
    let write = || -> std::io::Result<NamedTempFile> {
        let mut file = tempfile::Builder::new().prefix("gleann-device-").suffix(".tmp").tempfile_in(dir)?;
        let mut random = Pcg64Mcg::seed_from_u64(0);
        let mut chunk = vec![0u8; CHUNK];
        let mut left = size;
        while left > 0 {
            let count = left.min(CHUNK as u64) as usize;
            random.fill_bytes(&mut chunk);
            file.write_all(&chunk[..count])?;
            left -= count as u64;
        }
        file.as_file().sync_all()?;
        Ok(file)
    };
    write().with_context(|| format!("writing a scratch file of {size} bytes in {}", dir.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_file_is_measured_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join("device.jsonl");
        let scratch = folder.path().join("scratch");
        std::fs::create_dir(&scratch).unwrap();
        let args = DeviceArgs {
            dir: scratch.clone(),
            size: 1 << 20,
            depth: vec![1, 4],
            threads: 1,
            read_bytes: 4096,
            engine: EngineChoice::Pool,
            seconds: 0.05,
            no_fio: true,
            out: Some(out.clone()),
        };
        run(args).unwrap();
        assert_eq!(std::fs::read_dir(scratch).unwrap().count(), 0);
        let lines = std::fs::read_to_string(out).unwrap();
        let rows: Vec<serde_json::Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(rows.len(), 2);
        assert!(rows[1]["device_iops"].as_f64().unwrap() > 0.0 && rows[1]["depth"] == 4);
    }
}

//! The same reads through fio, the field's own yardstick, where it is installed.

use super::device::DeviceRow;
use crate::row::Environment;
use anyhow::{Context, Result, ensure};
use gleann::DeviceLoad;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

const ENGINE: &str = "io_uring";

/// The version of fio, or `None` where it is not installed.
pub fn version() -> Option<String> {
    let output = Command::new("fio").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// Reads `file` at random as `load` says.
///
/// # Errors
/// fio fails, or prints something else than its JSON.
pub fn measure(file: &Path, load: &DeviceLoad) -> Result<DeviceRow> {
    // fio gives every job the same depth; the largest whole share is taken.
    let depth = (load.depth / load.threads).max(1);
    let output = Command::new("fio")
        .args(["--name=gleann", "--rw=randread", "--direct=1", "--readonly", "--thread", "--group_reporting"])
        .args(["--time_based", "--norandommap", "--output-format=json"])
        .arg(format!("--filename={}", file.display()))
        .arg(format!("--ioengine={ENGINE}"))
        .arg(format!("--bs={}", load.read_bytes))
        .arg(format!("--iodepth={depth}"))
        .arg(format!("--numjobs={}", load.threads))
        .arg(format!("--runtime={}ms", load.duration.as_millis()))
        .arg(format!("--ramp_time={}ms", load.duration.as_millis() / 10))
        .output()
        .context("cannot run fio")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "fio ended with {}: {}", output.status, complaint.trim());
    parse(&String::from_utf8_lossy(&output.stdout), load)
        .context("fio printed something else than expected; --no-fio leaves it out")
}

/// Reads the figures out of fio's JSON, in front of which it may print notes.
fn parse(text: &str, load: &DeviceLoad) -> Result<DeviceRow> {
    let start = text.find('{').context("no JSON")?;
    let report: Value = serde_json::from_str(&text[start..])?;
    let job = &report["jobs"][0];
    let number = |value: &Value, name: &str| value.as_f64().with_context(|| format!("no number `{name}`"));
    let percentile = |share: &str| number(&job["read"]["clat_ns"]["percentile"][share], share);
    let reads = number(&job["read"]["total_ios"], "total_ios")?;
    // With group reporting the run time is the sum over the jobs, and the shares refer to it.
    let run_us = number(&job["job_runtime"], "job_runtime")? * 1e3;
    let busy = (number(&job["usr_cpu"], "usr_cpu")? + number(&job["sys_cpu"], "sys_cpu")?) / 100.0;
    Ok(DeviceRow {
        system: "fio",
        engine: ENGINE.to_owned(),
        depth: (load.depth / load.threads).max(1) * load.threads,
        threads: load.threads,
        read_bytes: load.read_bytes,
        direct: true,
        device_iops: number(&job["read"]["iops"], "iops")?,
        latency_us_p50: percentile("50.000000")? / 1e3,
        latency_us_p99: percentile("99.000000")? / 1e3,
        cpu_us_per_read: busy * run_us / reads.max(1.0),
        file_bytes: 0,
        environment: Environment::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleann::EngineChoice;
    use std::time::Duration;

    const REPORT: &str = r#"note: something
{"jobs":[{"job_runtime":4000,"usr_cpu":5.0,"sys_cpu":20.0,"read":{"iops":50000.5,"total_ios":100000,
"clat_ns":{"percentile":{"50.000000":70000,"99.000000":150500}}}}]}"#;

    #[test]
    fn figures_are_read_from_the_report() {
        let load = DeviceLoad {
            engine: EngineChoice::Glommio,
            read_bytes: 4096,
            depth: 8,
            threads: 2,
            duration: Duration::from_secs(2),
        };
        let row = parse(REPORT, &load).unwrap();
        assert_eq!((row.device_iops, row.latency_us_p50, row.latency_us_p99), (50000.5, 70.0, 150.5));
        // A quarter of 4 s of run time, over 100 000 reads.
        assert!((row.cpu_us_per_read - 10.0).abs() < 1e-9);
        assert!(parse("usage", &load).is_err());
        assert!(format!("{:#}", parse("{}", &load).unwrap_err()).contains("total_ios"));
    }
}

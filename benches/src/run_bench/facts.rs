//! What a number cannot be read without: revision, machine, file system, and how the index was built.

use crate::row::{Environment, Place};
use gleann::IndexInfo;
use gleann_storage::{IndexDirectory, IndexKind};
use gleann_vector::cpu_report;
use serde_json::json;
use std::process::Command;

/// The environment now, of an index that is open.
pub fn environment(info: &IndexInfo) -> Environment {
    let parameters = &info.parameters;
    Environment {
        file_system: info.file_system.clone(),
        seed: Some(parameters.seed),
        build: Some(json!({
            "build_id": info.build_id,
            "rows": info.nodes,
            "dim": info.layout.dim(),
            "element": info.layout.element().to_string(),
            "metric": info.metric.to_string(),
            "degree": info.layout.degree(),
            "build_list": parameters.build_list,
            "alpha": parameters.alpha,
            "passes": parameters.passes,
            "pq_bytes": info.code_bytes,
            "page_size": info.layout.page_size(),
            "options": parameters.options,
        })),
        ..machine()
    }
}

/// The index as it lies on the disk and in memory, with what its build has noted.
pub fn place(directory: &IndexDirectory, info: &IndexInfo) -> Place {
    let (manifest, layout) = (directory.manifest(), &info.layout);
    let report = directory.report().unwrap_or_default();
    let number = |key: &str| report.get(key).and_then(serde_json::Value::as_f64);
    let members: u64 = manifest.members.iter().map(|member| member.bytes).sum();
    let packing = match manifest.kind {
        IndexKind::Graph => manifest.packing.name(),
        IndexKind::Postings { .. } => "postings",
    };
    Place {
        packing: packing.to_owned(),
        codes: info.codes.to_string(),
        records_per_page: Some(layout.records_per_block() as f64 / layout.pages_per_block() as f64),
        overlap_ratio: number("overlap_ratio"),
        mean_degree: number("mean_degree"),
        disk_bytes: Some(members),
        memory_bytes: Some(info.memory_bytes),
        build_seconds: number("seconds"),
        build_cpu_seconds: number("cpu_seconds"),
        build_peak_bytes: number("peak_rss_bytes").map(|bytes| bytes as u64),
    }
}

/// The environment now, as far as no index is needed to know it.
pub fn machine() -> Environment {
    Environment {
        git: revision().unwrap_or_else(|| "unknown".to_owned()),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
        cpu: cpu_model(&read("/proc/cpuinfo")),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32),
        cpu_path: cpu_report(),
        load_average: load_average(),
        ..Environment::default()
    }
}

/// One-minute load average.
pub fn load_average() -> Option<f64> {
    read("/proc/loadavg").split(' ').next()?.parse().ok()
}

/// Memory this process has in RAM, in bytes.
pub fn resident_bytes() -> Option<u64> {
    let status = read("/proc/self/status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// The commit of the source folder, marked if files differ from it.
fn revision() -> Option<String> {
    let output = Command::new("git")
        .args(["-C", env!("CARGO_MANIFEST_DIR"), "describe", "--always", "--abbrev=12", "--dirty"])
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn cpu_model(cpuinfo: &str) -> String {
    let named = cpuinfo.lines().find_map(|line| line.strip_prefix("model name"));
    named.map_or("unknown", |rest| rest.trim_start_matches([' ', '\t', ':'])).to_owned()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_known() {
        let machine = machine();
        assert!(machine.kernel.contains('.') && machine.cores > 0 && !machine.cpu_path.is_empty());
        assert!(resident_bytes().unwrap() > 1 << 20);
        assert_eq!(cpu_model("processor\t: 0\nmodel name\t: Fast One\nflags: x"), "Fast One");
        assert_eq!(cpu_model(""), "unknown");
    }
}

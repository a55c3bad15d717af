//! What is compared: a name, a unit, and where it stands in a result line.

use crate::row::Row;
use serde::Deserialize;

/// A measure of a result line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// Recall itself, for comparisons at equal list length.
    Recall,
    /// List length.
    List,
    /// Queries a second.
    Qps,
    /// Mean latency.
    Latency,
    /// Pages read a query.
    Pages,
    /// Reads a query.
    Reads,
    /// Bytes read a query.
    BytesRead,
    /// Reads a second.
    Iops,
    /// Bytes read a second.
    Bandwidth,
    /// Share of a search's time in which it waited for reads.
    IoShare,
    /// Processor time a query.
    Cpu,
    /// Bytes of the index's files.
    Disk,
    /// Bytes that the open index holds in memory.
    Memory,
    /// Seconds of the build.
    BuildTime,
    /// Processor seconds of the build.
    BuildCpu,
    /// Peak memory of the build.
    BuildMemory,
    /// Overlap ratio of the packing.
    Overlap,
}

impl Measure {
    /// What it is called in tables, with its unit.
    pub fn title(self) -> &'static str {
        match self {
            Measure::Recall => "recall",
            Measure::List => "L",
            Measure::Qps => "queries/s",
            Measure::Latency => "latency, µs",
            Measure::Pages => "pages/query",
            Measure::Reads => "reads/query",
            Measure::BytesRead => "bytes/query",
            Measure::Iops => "reads/s",
            Measure::Bandwidth => "MB/s",
            Measure::IoShare => "I/O share",
            Measure::Cpu => "CPU µs/query",
            Measure::Disk => "disk, MB",
            Measure::Memory => "memory, MB",
            Measure::BuildTime => "build, s",
            Measure::BuildCpu => "build CPU, s",
            Measure::BuildMemory => "build memory, MB",
            Measure::Overlap => "overlap ratio",
        }
    }

    /// Its value in a row.
    pub fn of(self, row: &Row) -> Option<f64> {
        let (cost, place) = (&row.cost, &row.place);
        let mega = |bytes: Option<u64>| bytes.map(|bytes| bytes as f64 / 1e6);
        match self {
            Measure::Recall => Some(row.recall),
            Measure::List => Some(f64::from(row.list)),
            Measure::Qps => Some(row.qps),
            Measure::Latency => row.latency.mean,
            Measure::Pages => cost.pages_per_query,
            Measure::Reads => cost.reads_per_query,
            Measure::BytesRead => cost.bytes_per_query,
            Measure::Iops => cost.device_iops,
            Measure::Bandwidth => cost.bytes_per_query.map(|bytes| bytes * row.qps / 1e6),
            Measure::IoShare => cost.stall_share,
            Measure::Cpu => cost.cpu_us_per_query,
            Measure::Disk => mega(place.disk_bytes),
            Measure::Memory => mega(place.memory_bytes),
            Measure::BuildTime => place.build_seconds,
            Measure::BuildCpu => place.build_cpu_seconds,
            Measure::BuildMemory => mega(place.build_peak_bytes),
            Measure::Overlap => place.overlap_ratio,
        }
    }

    /// Whether it belongs to the index, not to how it is searched.
    pub fn is_of_index(self) -> bool {
        use Measure::{BuildCpu, BuildMemory, BuildTime, Disk, Memory, Overlap};
        matches!(self, Disk | Memory | BuildTime | BuildCpu | BuildMemory | Overlap)
    }

    /// Its value for people.
    pub fn show(self, value: f64) -> String {
        match self {
            Measure::IoShare => format!("{:.0} %", 100.0 * value),
            Measure::Recall | Measure::Overlap => format!("{value:.4}"),
            _ => crate::plot::number(value),
        }
    }
}

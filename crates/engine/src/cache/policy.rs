//! The cache policies (design-space paper §4.1.2).

use crate::size::parse_bytes;
use std::path::PathBuf;

/// Which records are held in memory while an index is open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CachePolicy {
    /// None.
    #[default]
    None,
    /// Those fewest hops from the entry points, breadth first (DiskANN's SSSP cache). The navigation graph's nodes
    /// are entry points too, where it is loaded.
    Sssp(CacheSize),
    /// Those that a sample of queries wants most often.
    Hot {
        /// How much may be held.
        size: CacheSize,
        /// Vector file of the sample; without one, some of the index's own vectors. Queries that performance is
        /// measured with should not be among them.
        queries: Option<PathBuf>,
    },
}

/// How much a cache may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheSize {
    /// Bytes of memory.
    Bytes(u64),
    /// Millionths of the index's records: 1000 is 0.1 %.
    Records {
        /// Millionths.
        ppm: u32,
    },
}

impl CacheSize {
    /// The records that fit, of `nodes` that take `bytes_each` in memory.
    pub(crate) fn records(self, nodes: u32, bytes_each: u64) -> u32 {
        let records = match self {
            CacheSize::Bytes(bytes) => bytes / bytes_each,
            CacheSize::Records { ppm } => u64::from(nodes) * u64::from(ppm) / 1_000_000,
        };
        records.min(nodes.into()) as u32
    }
}

impl std::fmt::Display for CacheSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CacheSize::Bytes(bytes) => write!(f, "{bytes}"),
            CacheSize::Records { ppm } => write!(f, "{}%", f64::from(*ppm) / 10_000.0),
        }
    }
}

impl std::str::FromStr for CacheSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(percent) = text.strip_suffix('%') else { return parse_bytes(text).map(CacheSize::Bytes) };
        let share = percent.trim().parse().ok().filter(|share| (0.0..=100.0).contains(share));
        let share: f64 =
            share.ok_or_else(|| format!("`{text}` is no share of the records; expected 0% to 100%"))?;
        Ok(CacheSize::Records { ppm: (share * 10_000.0).round() as u32 })
    }
}

impl std::fmt::Display for CachePolicy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = match self {
            CachePolicy::None => "none".to_owned(),
            CachePolicy::Sssp(size) => format!("sssp:{size}"),
            CachePolicy::Hot { size, queries: None } => format!("hot:{size}"),
            CachePolicy::Hot { size, queries: Some(file) } => format!("hot:{size}:{}", file.display()),
        };
        f.pad(&text)
    }
}

impl std::str::FromStr for CachePolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(CachePolicy::None);
        }
        if let Some(size) = text.strip_prefix("sssp:") {
            return size.parse().map(CachePolicy::Sssp);
        }
        if let Some(rest) = text.strip_prefix("hot:") {
            let (size, file) = rest.split_once(':').map_or((rest, None), |(size, file)| (size, Some(file)));
            return Ok(CachePolicy::Hot { size: size.parse()?, queries: file.map(PathBuf::from) });
        }
        Err(format!(
            "cache `{text}` is not understood; expected none, sssp:SIZE, hot:SIZE or hot:SIZE:QUERIES, where SIZE is \
             like 64MiB or 0.1%"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_forms_are_read_and_written() {
        for text in ["none", "sssp:65536", "sssp:0.1%", "hot:10%", "hot:4096:a/b:c.fbin"] {
            assert_eq!(text.parse::<CachePolicy>().unwrap().to_string(), text);
        }
        assert_eq!("sssp:1MiB".parse(), Ok(CachePolicy::Sssp(CacheSize::Bytes(1 << 20))));
        for text in ["", "sssp", "sssp:", "lru:1MiB", "hot:x", "sssp:101%", "sssp:-1%", "sssp:nan%"] {
            assert!(text.parse::<CachePolicy>().is_err(), "{text}");
        }
    }

    #[test]
    fn budgets_become_records() {
        assert_eq!(CacheSize::Bytes(1000).records(50, 100), 10);
        assert_eq!(CacheSize::Bytes(99).records(50, 100), 0);
        assert_eq!(CacheSize::Bytes(u64::MAX).records(50, 100), 50);
        assert_eq!(CacheSize::Records { ppm: 1000 }.records(5000, 100), 5);
        assert_eq!(CacheSize::Records { ppm: 1_000_000 }.records(u32::MAX - 1, 1), u32::MAX - 1);
    }
}

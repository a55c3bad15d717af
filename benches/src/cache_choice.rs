//! The cache axis as people write it: a policy and a budget, in bytes or as a share of the records.

use crate::build_index::parse_bytes;
use std::str::FromStr;

/// Which records an open index holds in memory.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum CacheChoice {
    /// None: every record is read.
    #[default]
    None,
    /// Those within few hops of the entry points.
    Sssp(Budget),
    /// Those that a sample of queries visits most.
    Hot(Budget),
}

/// How much a cache may hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Budget {
    /// Bytes of memory.
    Bytes(u64),
    /// A share of the records, in percent.
    Percent(f64),
}

impl Budget {
    /// Bytes of it, for an index of `nodes` records of `record_bytes`.
    pub fn bytes(self, nodes: u64, record_bytes: usize) -> u64 {
        match self {
            Budget::Bytes(bytes) => bytes,
            // A record is held with its id.
            Budget::Percent(percent) => {
                (nodes as f64 * percent / 100.0).ceil() as u64 * (record_bytes as u64 + 4)
            }
        }
    }
}

impl std::fmt::Display for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // Exactly, in the largest unit that divides it.
            Budget::Bytes(count) => {
                let units = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
                let unit = units.into_iter().find(|(_, size)| *count > 0 && count % size == 0);
                f.pad(
                    &unit.map_or_else(|| count.to_string(), |(name, size)| format!("{}{name}", count / size)),
                )
            }
            Budget::Percent(percent) => f.pad(&format!("{percent}%")),
        }
    }
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(number) = text.strip_suffix('%') else { return parse_bytes(text).map(Budget::Bytes) };
        let percent = number.parse().ok().filter(|percent| *percent > 0.0 && *percent <= 100.0);
        percent.map(Budget::Percent).ok_or_else(|| format!("`{text}` is no share; expected up to 100%"))
    }
}

impl std::fmt::Display for CacheChoice {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CacheChoice::None => f.pad("none"),
            CacheChoice::Sssp(budget) => f.pad(&format!("sssp:{budget}")),
            CacheChoice::Hot(budget) => f.pad(&format!("hot:{budget}")),
        }
    }
}

impl FromStr for CacheChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "none" => Ok(CacheChoice::None),
            Some(("sssp", budget)) => budget.parse().map(CacheChoice::Sssp),
            Some(("hot", budget)) => budget.parse().map(CacheChoice::Hot),
            _ => Err(format!(
                "cache `{text}` is not understood; expected `none`, `sssp:BUDGET` or `hot:BUDGET`, such as \
                 `sssp:64MiB` or `sssp:0.1%`"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_forms_are_read_and_written() {
        for text in ["none", "sssp:64MiB", "hot:1536MiB", "sssp:0.1%", "hot:100"] {
            assert_eq!(text.parse::<CacheChoice>().unwrap().to_string(), text);
        }
        for text in ["", "sssp", "sssp:", "lru:4MiB", "hot:0%", "hot:101%", "sssp:nan%"] {
            assert!(text.parse::<CacheChoice>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_share_counts_records() {
        assert_eq!(Budget::Percent(0.1).bytes(500_000, 388), 500 * 392);
        assert_eq!(Budget::Bytes(77).bytes(500_000, 388), 77);
    }
}

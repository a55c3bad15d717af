//! When a commit returns.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// When a commit returns. Written `each`, `group:5ms` (or `us`, `s`), `none`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// When its record is on the disk. Commits that come while another's fsync runs share the next one.
    #[default]
    Each,
    /// The same, but before the first calls fsync it waits for as many others as there were last time, at most this long:
    /// fewer fsyncs. Who commits alone does not wait.
    Group(Duration),
    /// At once. A power loss takes the last records, never one from the middle.
    None,
}

/// The longest that a commit may be made to wait for others.
const MAX_WINDOW: Duration = Duration::from_secs(10);

/// Not a durability.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the durability is {found:?}, expected each, none, or group: and a time from 1us to 10s, such as group:5ms"
)]
pub struct UnknownDurability {
    /// What it is instead.
    pub found: String,
}

impl FromStr for Durability {
    type Err = UnknownDurability;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "each" => Ok(Self::Each),
            "none" => Ok(Self::None),
            _ => text
                .strip_prefix("group:")
                .and_then(window)
                .map(Self::Group)
                .ok_or_else(|| UnknownDurability { found: text.to_owned() }),
        }
    }
}

fn window(text: &str) -> Option<Duration> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().ok()?;
    let window = match unit {
        "us" => Duration::from_micros(number),
        "ms" => Duration::from_millis(number),
        "s" => Duration::from_secs(number),
        _ => return None,
    };
    (!window.is_zero() && window <= MAX_WINDOW).then_some(window)
}

impl fmt::Display for Durability {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Each => out.write_str("each"),
            Self::None => out.write_str("none"),
            Self::Group(window) => match window.as_micros() {
                us if us.is_multiple_of(1_000_000) => write!(out, "group:{}s", us / 1_000_000),
                us if us.is_multiple_of(1_000) => write!(out, "group:{}ms", us / 1_000),
                us => write!(out, "group:{us}us"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_reads_what_it_writes() {
        for text in ["each", "none", "group:5ms", "group:1us", "group:1500us", "group:2s", "group:10s"] {
            assert_eq!(text.parse::<Durability>().unwrap().to_string(), text);
        }
        assert_eq!("group:2000us".parse(), Ok(Durability::Group(Duration::from_millis(2))));
    }

    #[test]
    fn it_refuses_what_is_none() {
        let wrong =
            ["", "Each", "group", "group:", "group:5", "group:ms", "group:0ms", "group:11s", "group:-1ms"];
        for text in wrong.into_iter().chain([
            "group:5m",
            "group:99999999999999999999s",
            "group:18446744073709551615s",
        ]) {
            let error = text.parse::<Durability>().unwrap_err();
            assert!(error.to_string().contains(&format!("{text:?}")), "{error}");
        }
    }
}

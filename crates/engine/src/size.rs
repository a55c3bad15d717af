//! Sizes as people write them.

/// A size with a binary unit.
pub fn bytes(count: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut value = count as f64;
    let mut unit = 0;
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{count} B") } else { format!("{value:.1} {}", units[unit]) }
}

/// Reads `512MiB`, `8GiB`, `1.5GB` or a plain number of bytes.
///
/// # Errors
/// It is no size; the message says what is.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let refused =
        || format!("`{text}` is no size; expected a number and one of KiB, MiB, GiB, TiB, kB, MB, GB, TB");
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "kib" | "k" => f64::from(1 << 10),
        "mib" | "m" => f64::from(1 << 20),
        "gib" | "g" => f64::from(1 << 30),
        "tib" | "t" => 1024.0 * f64::from(1 << 30),
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        _ => return Err(refused()),
    };
    let number: f64 = digits.trim().parse().map_err(|_| refused())?;
    let value = number * unit;
    if (0.0..1e18).contains(&value) { Ok(value as u64) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_written() {
        assert_eq!(parse_bytes("8GiB"), Ok(8 << 30));
        assert_eq!(parse_bytes("1.5g"), Ok(3 << 29));
        assert_eq!(parse_bytes("512 MiB"), Ok(512 << 20));
        assert_eq!(parse_bytes("2GB"), Ok(2_000_000_000));
        assert_eq!(parse_bytes("4096"), Ok(4096));
        for bad in ["", "GiB", "-1GiB", "1XB", "nan", "1e30GiB"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
        assert_eq!(
            (bytes(999), bytes(3 << 29), bytes(2048)),
            ("999 B".into(), "1.5 GiB".into(), "2.0 KiB".into())
        );
    }
}

//! Keys as the command line names them: ranges, or a file.

use anyhow::{Context, Result, ensure};
use gleann::Key;
use gleann_vector::read_keys;
use std::path::Path;

/// Keys of one range: 2 GiB of them.
const MOST_KEYS: u64 = 1 << 28;

/// Reads keys: a file (`.u64bin`, or text with one number a line), or numbers and half-open ranges such as `3,10..20`.
///
/// # Errors
/// It is neither, or a key is named twice.
pub fn keys_of(text: &str) -> Result<Vec<Key>> {
    let path = Path::new(text);
    if path.exists() {
        return Ok(read_keys(path, count_in(path)?)?);
    }
    let mut keys = Vec::new();
    for part in text.split(',') {
        let number = |text: &str| text.trim().parse::<Key>().ok();
        let range = match part.split_once("..") {
            Some((start, end)) => number(start).zip(number(end)).map(|(start, end)| start..end),
            None => number(part).and_then(|key| Some(key..key.checked_add(1)?)),
        };
        let range = range.with_context(|| {
            format!("`{text}`: no such file, and `{part}` is no key; expected a file of keys, or keys such as 3,10..20")
        })?;
        ensure!(!range.is_empty(), "`{part}`: nothing between {} and {}", range.start, range.end);
        let count = range.end - range.start;
        ensure!(count <= MOST_KEYS, "`{part}` are {count} keys; expected at most {MOST_KEYS} at a time");
        keys.extend(range);
    }
    let mut sorted = keys.clone();
    sorted.sort_unstable();
    let twice = sorted.windows(2).find(|pair| pair[0] == pair[1]);
    ensure!(twice.is_none(), "`{text}`: key {} is named twice", twice.map_or(0, |pair| pair[0]));
    Ok(keys)
}

/// How many keys a file says it has: its header's word, or its lines.
fn count_in(path: &Path) -> Result<u64> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read keys {}", path.display()))?;
    if path.extension().is_some_and(|ending| ending == "u64bin") {
        let word = bytes.first_chunk::<4>();
        return Ok(word.map_or(0, |word| u32::from_le_bytes(*word).into()));
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().filter(|line| !line.trim().is_empty()).count() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleann_vector::write_keys;

    #[test]
    fn keys_come_from_ranges_and_files() {
        assert_eq!(keys_of("3, 10..12,7").unwrap(), [3, 10, 11, 7]);
        let folder = tempfile::tempdir().unwrap();
        let (binary, text) = (folder.path().join("k.u64bin"), folder.path().join("k.txt"));
        write_keys(&binary, &[9, 1 << 40]).unwrap();
        std::fs::write(&text, "4\n2\n").unwrap();
        assert_eq!(keys_of(binary.to_str().unwrap()).unwrap(), [9, 1 << 40]);
        assert_eq!(keys_of(text.to_str().unwrap()).unwrap(), [4, 2]);
        for (wrong, part) in [
            ("5..5", "nothing between"),
            ("1,1", "key 1 is named twice"),
            ("0..3,2", "key 2"),
            ("keys.txt", "no such file"),
            ("-1", "`-1`"),
            ("0..18446744073709551615", "at most"),
        ] {
            let error = format!("{:#}", keys_of(wrong).unwrap_err());
            assert!(error.contains(part), "{wrong}: {error}");
        }
    }
}

//! The first phase: every row is read once, found usable, and hashed.

use super::BuildError;
use super::input::Input;
use gleann_vector::{ContentHash, Element, ElementType, Fingerprint, Key, Progress, RowSource, SourceError};
use std::sync::Mutex;

/// Largest magnitude of a component: beyond it, squared distances overflow f32 in 8192 dimensions.
pub(crate) const LIMIT: f32 = 1e16;

/// Why a scan ended early.
pub(crate) enum Stop {
    Cancelled,
    Error(BuildError),
}

/// Checks every component and hashes all of them.
///
/// # Errors
/// A component is not finite or too large, the rows cannot be read, or `progress` asked to stop.
pub(crate) fn scan<T: Element>(input: &Input<'_, T>, progress: &dyn Progress) -> Result<ContentHash, Stop> {
    progress.phase("scan", input.rows.rows());
    let checked = Checked { input, progress, stop: Mutex::new(None) };
    match Fingerprint::of(&checked) {
        Ok(print) => Ok(print.hash),
        Err(error) => {
            let stop = checked.stop.into_inner().ok().flatten();
            Err(stop.unwrap_or(Stop::Error(error.into())))
        }
    }
}

/// Rows that are looked at while they are read.
struct Checked<'a, T: Element> {
    input: &'a Input<'a, T>,
    progress: &'a dyn Progress,
    stop: Mutex<Option<Stop>>,
}

impl<T: Element> Checked<'_, T> {
    fn stop(&self, start: u64, stop: Stop) -> SourceError {
        if let Ok(mut place) = self.stop.lock() {
            *place = Some(stop);
        }
        let (name, message) = (self.input.name.clone(), "stopped".into());
        SourceError { name, start, end: start, message }
    }
}

impl<T: Element> RowSource<T> for Checked<'_, T> {
    fn rows(&self) -> u64 {
        self.input.rows.rows()
    }

    fn dim(&self) -> usize {
        self.input.rows.dim()
    }

    fn read_rows(&self, start: u64, into: &mut [T]) -> Result<(), SourceError> {
        if self.progress.cancelled() {
            return Err(self.stop(start, Stop::Cancelled));
        }
        self.input.rows.read_rows(start, into)?;
        if let Some(at) = first_unusable(into) {
            let (row, component) = (start + (at / self.dim()) as u64, at % self.dim());
            let value = into[at].to_f32();
            let expected = if value.is_finite() {
                "expected at most 1e16 in magnitude, beyond which squared distances overflow: scale the data down"
            } else {
                "every component must be finite: remove or repair the row"
            };
            let file = self.input.name.clone();
            let error = BuildError::Component { file, row, component, value, expected };
            return Err(self.stop(start, Stop::Error(error)));
        }
        self.progress.advance((into.len() / self.dim()) as u64);
        Ok(())
    }
}

/// Position of the first component that is NaN, infinite or too large.
fn first_unusable<T: Element>(elements: &[T]) -> Option<usize> {
    if !matches!(T::TYPE, ElementType::F32 | ElementType::F16) {
        return None;
    }
    // NaN is not below the limit either.
    let usable = |x: &T| x.to_f32().abs() <= LIMIT;
    // Whole blocks without a branch an element, so that the check runs at memory speed.
    let bad = elements.chunks(1024).position(|block| !block.iter().fold(true, |all, x| all & usable(x)))?;
    let within = elements[bad * 1024..].iter().position(|x| !usable(x))?;
    Some(bad * 1024 + within)
}

/// Checks that no key stands twice, and hashes the keys.
///
/// # Errors
/// Two rows have one key.
pub(crate) fn scan_keys(keys: &[Key]) -> Result<ContentHash, BuildError> {
    if !keys.is_sorted_by(|a, b| a < b) {
        let mut sorted = keys.to_vec();
        sorted.sort_unstable();
        if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            let mut rows = (0u64..).zip(keys).filter(|(_, key)| **key == pair[0]).map(|(row, _)| row);
            let (first, second) = (rows.next().unwrap_or(0), rows.next().unwrap_or(0));
            return Err(BuildError::DuplicateKey { key: pair[0], first, second });
        }
    }
    Ok(Fingerprint::of(&KeyBytes(keys))?.hash)
}

/// Keys as rows of eight bytes, to be hashed like any others.
struct KeyBytes<'a>(&'a [Key]);

impl RowSource<u8> for KeyBytes<'_> {
    fn rows(&self) -> u64 {
        self.0.len() as u64
    }

    fn dim(&self) -> usize {
        8
    }

    fn read_rows(&self, start: u64, into: &mut [u8]) -> Result<(), SourceError> {
        for (bytes, key) in into.chunks_exact_mut(8).zip(&self.0[start as usize..]) {
            bytes.copy_from_slice(&key.to_le_bytes());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_unusable_component_is_found() {
        let mut values = vec![0.5f32; 5000];
        assert_eq!(first_unusable(&values), None);
        for (at, bad) in [(4999, f32::NAN), (2048, 2e16), (2047, f32::NEG_INFINITY), (0, f32::MAX)] {
            values[at] = bad;
            assert_eq!(first_unusable(&values), Some(at));
        }
        assert_eq!(first_unusable(&[255u8; 10]), None);
    }

    #[test]
    fn keys_are_unique_and_their_order_counts() {
        let hash = |keys: &[Key]| scan_keys(keys).unwrap();
        assert_ne!(hash(&[1, 2]), hash(&[2, 1]));
        let error = scan_keys(&[9, 4, 7, 4]).unwrap_err().to_string();
        assert!(error.contains("rows 1 and 3 have the same key 4"), "{error}");
    }
}

//! SHA-256 of files, and the lists of them that recipes leave beside a set.

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Name of the list that a recipe writes beside its files.
pub const LIST: &str = "SHA256SUMS";

/// The SHA-256 of a file, in lower-case hexadecimal.
///
/// # Errors
/// The file cannot be read.
pub fn sha256(path: &Path) -> anyhow::Result<String> {
    let mut file = File::open(path).with_context(|| format!("opening {}", path.display()))?;
    let (mut state, mut buffer) = (Sha256::new(), vec![0; 1 << 20]);
    loop {
        let count = file.read(&mut buffer).with_context(|| format!("reading {}", path.display()))?;
        if count == 0 {
            break;
        }
        state.update(&buffer[..count]);
    }
    Ok(state.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Checks every file that `folder`'s list names; returns how many.
///
/// # Errors
/// The list cannot be read, or a file differs from it.
pub fn check_list(folder: &Path) -> anyhow::Result<usize> {
    let path = folder.join(LIST);
    let text = std::fs::read_to_string(&path).with_context(|| format!("reading {}", path.display()))?;
    let mut checked = 0;
    for line in text.lines() {
        let Some((expected, name)) = line.split_once("  ") else {
            bail!(
                "{}: `{line}` is not `CHECKSUM  NAME`; remove the folder and get the set again",
                path.display()
            );
        };
        let file = folder.join(name);
        let found = sha256(&file)?;
        if found != expected {
            bail!(
                "{} has SHA-256 {found}, it was made with {expected}: it has been changed or damaged since; \
                 remove {} and get the set again",
                file.display(),
                folder.display()
            );
        }
        checked += 1;
    }
    Ok(checked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a");
        std::fs::write(&file, "abc").unwrap();
        let sum = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(sha256(&file).unwrap(), sum);
        std::fs::write(folder.path().join(LIST), format!("{sum}  a\n")).unwrap();
        assert_eq!(check_list(folder.path()).unwrap(), 1);
        std::fs::write(&file, "abd").unwrap();
        let message = check_list(folder.path()).unwrap_err().to_string();
        assert!(message.contains("changed or damaged") && message.contains(sum));
    }
}

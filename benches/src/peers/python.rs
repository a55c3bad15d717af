//! The peers' Python environment: private to the work folder, versions pinned, made once.

use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const REQUIREMENTS: &str = include_str!("../../peers/requirements.txt");

/// The measuring programs, compiled in so that the binary needs no checkout.
const DRIVERS: [(&str, &str); 4] = [
    ("harness.py", include_str!("../../peers/harness.py")),
    ("diskann.py", include_str!("../../peers/diskann.py")),
    ("hnsw.py", include_str!("../../peers/hnsw.py")),
    ("faiss_hnsw.py", include_str!("../../peers/faiss_hnsw.py")),
];

/// Interpreters with wheels for every pinned package, newest first.
const INTERPRETERS: [&str; 4] = ["python3.11", "python3.10", "python3.9", "python3"];

/// An interpreter with the pinned packages: `given`, or one in a virtual environment under `work`.
///
/// # Errors
/// There is no fitting Python, or the packages cannot be installed.
pub fn ready(work: &Path, given: Option<&Path>) -> Result<PathBuf> {
    if let Some(python) = given {
        let imports = Command::new(python).args(["-c", "import numpy"]).status();
        let usable = imports.with_context(|| format!("cannot run --python {}", python.display()))?.success();
        ensure!(usable, "--python {}: has no numpy; install {}", python.display(), packages());
        return Ok(python.to_path_buf());
    }
    let folder = work.join("venv");
    let stamp = folder.join("requirements.installed.txt");
    let python = folder.join("bin/python");
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == REQUIREMENTS) && python.exists() {
        return Ok(python);
    }
    println!("installing the peers into {} (once) …", folder.display());
    succeed(Command::new(interpreter()?).args(["-m", "venv", "--clear"]).arg(&folder))?;
    let wanted = work.join("requirements.txt");
    std::fs::write(&wanted, REQUIREMENTS).with_context(|| format!("cannot write {}", wanted.display()))?;
    let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--prefer-binary", "-r"];
    succeed(Command::new(&python).args(pip).arg(&wanted)).context(
        "the peers cannot be installed; without network, make the environment elsewhere and use --python",
    )?;
    std::fs::write(&stamp, REQUIREMENTS).with_context(|| format!("cannot write {}", stamp.display()))?;
    Ok(python)
}

/// The packages wanted, in one line.
fn packages() -> String {
    REQUIREMENTS.lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join(" ")
}

/// Writes the measuring programs into `work/drivers` and returns that folder.
///
/// # Errors
/// The folder cannot be written.
pub fn install_drivers(work: &Path) -> Result<PathBuf> {
    let folder = work.join("drivers");
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(&folder)?;
        DRIVERS.iter().try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
    };
    write().with_context(|| format!("cannot write the measuring programs to {}", folder.display()))?;
    Ok(folder)
}

fn interpreter() -> Result<&'static str> {
    let fits = "import sys; sys.exit(not (3, 9) <= sys.version_info[:2] <= (3, 11))";
    let found = INTERPRETERS.into_iter().find(|name| {
        let tried = Command::new(name).args(["-c", fits]).stderr(Stdio::null()).status();
        tried.is_ok_and(|status| status.success())
    });
    found.context(
        "no CPython 3.9 to 3.11 found, which diskannpy 0.7.0 needs; install one, or name an interpreter that has \
         the packages with --python",
    )
}

fn succeed(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {:?}", command.get_program()))?;
    if !status.success() {
        bail!("{command:?} ended with {status}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_measuring_programs_come_along() {
        let folder = tempfile::tempdir().unwrap();
        let drivers = install_drivers(folder.path()).unwrap();
        for name in ["harness.py", "diskann.py", "hnsw.py", "faiss_hnsw.py"] {
            assert!(std::fs::metadata(drivers.join(name)).unwrap().len() > 500, "{name}");
        }
        assert!(ready(folder.path(), Some(Path::new("/nonexistent/python"))).is_err());
    }
}

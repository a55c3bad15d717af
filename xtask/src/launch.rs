//! Builds the release binary and becomes it: exit codes, signals and the terminal are the binary's own.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const BINARY: &str = "gleann-bench";

/// Replaces this process by `gleann-bench ARGUMENTS`. Returns only if that failed.
pub fn become_bench(root: &Path, arguments: &[OsString]) -> ExitCode {
    let binary = match bench_path() {
        Ok(path) => path,
        Err(error) => return fail(&format!("cannot tell where cargo puts binaries: {error}")),
    };
    if !binary.exists() {
        eprintln!("compiling {BINARY} with optimisation; this takes a few minutes, once …");
    }
    match build(root) {
        Ok(status) if status.success() => {}
        Ok(status) => {
            return ExitCode::from(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(101));
        }
        Err(error) => return fail(&format!("cannot run cargo: {error}")),
    }
    let error = Command::new(&binary).args(arguments).exec();
    fail(&format!("cannot run {}: {error}", binary.display()))
}

/// The release folder beside the profile folder this program runs from, wherever the target folder is.
fn bench_path() -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let target = own.parent().and_then(Path::parent).ok_or(io::ErrorKind::NotFound)?;
    Ok(target.join("release").join(BINARY))
}

fn build(root: &Path) -> io::Result<std::process::ExitStatus> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    Command::new(cargo)
        .args(["build", "--release", "--quiet", "--package", BINARY, "--manifest-path"])
        .arg(root.join("Cargo.toml"))
        .status()
}

fn fail(message: &str) -> ExitCode {
    eprintln!("xtask: {message}");
    ExitCode::FAILURE
}

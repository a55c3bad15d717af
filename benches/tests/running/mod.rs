//! The binary as a user runs it.

use std::path::Path;
use std::process::{Command, Output};

/// Runs the binary in `folder`.
pub fn run(folder: &Path, line: &str) -> Output {
    let arguments = line.split_whitespace();
    let command =
        Command::new(env!("CARGO_BIN_EXE_gleann-bench")).args(arguments).current_dir(folder).output();
    command.expect("the binary was built for this test")
}

/// What it prints, if it ends well.
pub fn done(folder: &Path, line: &str) -> String {
    let output = run(folder, line);
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{line}: {complaint}");
    String::from_utf8(output.stdout).expect("output is text")
}

/// What it complains about, if it fails.
pub fn refused(folder: &Path, line: &str) -> String {
    let output = run(folder, line);
    assert!(!output.status.success(), "{line} was not refused");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

//! Running the recipes: a Python interpreter, and a private virtual environment for those that need packages.

use anyhow::{Context, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The oldest Python that the recipes run on.
const OLDEST: (u32, u32) = (3, 11);
/// Names another interpreter than `python3`.
const VARIABLE: &str = "GLEANN_PYTHON";

/// A Python interpreter.
#[derive(Debug)]
pub struct Python {
    program: PathBuf,
}

impl Python {
    /// The system's Python.
    ///
    /// # Errors
    /// There is none, or it is too old.
    pub fn find() -> anyhow::Result<Self> {
        Self::at(std::env::var_os(VARIABLE).unwrap_or_else(|| "python3".into()).into())
    }

    fn at(program: PathBuf) -> anyhow::Result<Self> {
        let (major, minor) = OLDEST;
        let wanted = format!(
            "the recipes need Python {major}.{minor} or newer (Debian: `apt-get install python3 \
                              python3-venv`); {VARIABLE}=PATH names another interpreter"
        );
        let mut probe = Command::new(&program);
        probe.args(["-c", "import sys; print(*sys.version_info[:2])"]);
        let output = match probe.output() {
            Ok(output) if output.status.success() => output,
            Ok(output) => {
                bail!("`{}` does not run ({}); {wanted}", program.display(), last_lines(&output.stderr))
            }
            Err(error) => bail!("cannot run `{}` ({error}); {wanted}", program.display()),
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let version: Vec<u32> = text.split_whitespace().filter_map(|part| part.parse().ok()).collect();
        match version[..] {
            [found_major, found_minor] if (found_major, found_minor) >= OLDEST => Ok(Self { program }),
            _ => bail!("`{}` is Python {}; {wanted}", program.display(), text.trim().replace(' ', ".")),
        }
    }

    /// The interpreter of the virtual environment in `folder`, which is made if it is not there, with
    /// `requirements` installed.
    ///
    /// # Errors
    /// The environment cannot be made, or a package cannot be installed.
    pub fn environment(&self, folder: &Path, requirements: &[&str]) -> anyhow::Result<Self> {
        let program = folder.join("bin").join("python");
        if !program.exists() {
            eprintln!("making a virtual environment in {}", folder.display());
            let made = self.quietly(&[OsStr::new("-m"), OsStr::new("venv"), folder.as_os_str()]);
            if let Err(error) = made {
                // Half an environment would be taken for a whole one the next time.
                let _ = std::fs::remove_dir_all(folder);
                bail!(
                    "{error}\nthe virtual environment cannot be made (Debian: `apt-get install python3-venv`)"
                );
            }
        }
        let environment = Self::at(program)?;
        eprintln!("installing {}", requirements.join(" "));
        let mut arguments = vec!["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        arguments.extend(requirements);
        let arguments: Vec<&OsStr> = arguments.into_iter().map(OsStr::new).collect();
        environment.quietly(&arguments).with_context(|| {
            format!(
                "pip could not install {} into {}; check the connection to the package registry (pip's own \
                     settings and HTTPS_PROXY apply), then run the same command again",
                requirements.join(" "),
                folder.display()
            )
        })?;
        Ok(environment)
    }

    /// Runs a script with its output shown as it comes.
    ///
    /// # Errors
    /// The script fails; what it said has been shown.
    pub fn show(&self, script: &Path, arguments: &[&OsStr]) -> anyhow::Result<()> {
        let status = self
            .command()
            .arg(script)
            .args(arguments)
            .status()
            .with_context(|| format!("running {} {}", self.program.display(), script.display()))?;
        if !status.success() {
            let name = script.file_name().unwrap_or_default().to_string_lossy();
            bail!(
                "{name} ended with {status}; its messages stand above, and nothing half-made was left under the \
                   set's name"
            );
        }
        Ok(())
    }

    fn quietly(&self, arguments: &[&OsStr]) -> anyhow::Result<()> {
        let output = self
            .command()
            .args(arguments)
            .output()
            .with_context(|| format!("running {}", self.program.display()))?;
        if !output.status.success() {
            let said = if output.stderr.is_empty() { &output.stdout } else { &output.stderr };
            bail!("{}", last_lines(said));
        }
        Ok(())
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.env("PYTHONUNBUFFERED", "1").env("PYTHONDONTWRITEBYTECODE", "1");
        command
    }
}

/// Checks that programs are installed.
///
/// # Errors
/// One is not on the PATH; the message says what it is for.
pub fn require_tools(tools: &[String]) -> anyhow::Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    for tool in tools {
        if !std::env::split_paths(&path).any(|folder| folder.join(tool).is_file()) {
            let remedy = match tool.as_str() {
                "apt-get" | "dpkg-deb" => {
                    "the set is made from Debian packages; run this on Debian or Ubuntu, or in \
                                           a container of one, after one `apt-get update`"
                }
                "npm" => "the set is made from an npm package; install npm (Debian: `apt-get install npm`)",
                _ => "install it",
            };
            bail!("`{tool}` is not installed: {remedy}");
        }
    }
    Ok(())
}

fn last_lines(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let lines: Vec<&str> = text.trim_end().lines().collect();
    lines[lines.len().saturating_sub(6)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn fake(folder: &Path, body: &str) -> PathBuf {
        let path = folder.join("python");
        std::fs::write(&path, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn a_missing_or_old_python_is_named_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let missing = Python::at(folder.path().join("none")).unwrap_err().to_string();
        assert!(missing.contains("none") && missing.contains("3.11") && missing.contains(VARIABLE));
        let old = Python::at(fake(folder.path(), "echo 3 9")).unwrap_err().to_string();
        assert!(old.contains("is Python 3.9"), "{old}");
        let broken = Python::at(fake(folder.path(), "echo no library >&2; exit 1")).unwrap_err().to_string();
        assert!(broken.contains("no library"), "{broken}");
        assert!(Python::at(fake(folder.path(), "echo 3 14")).is_ok());
    }

    #[test]
    fn a_failing_environment_leaves_nothing_and_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let body =
            "case \"$2\" in venv) mkdir -p \"$3\"; echo ensurepip is not available; exit 1;; esac; echo 3 14";
        let python = Python::at(fake(folder.path(), body)).unwrap();
        let environment = folder.path().join("env");
        let message = format!("{:#}", python.environment(&environment, &["numpy==2"]).unwrap_err());
        assert!(
            message.contains("ensurepip is not available") && message.contains("python3-venv"),
            "{message}"
        );
        assert!(!environment.exists());
    }

    #[test]
    fn a_failing_install_names_the_packages() {
        let folder = tempfile::tempdir().unwrap();
        let environment = folder.path().join("env");
        std::fs::create_dir_all(environment.join("bin")).unwrap();
        fake(&environment.join("bin"), "[ \"$2\" = pip ] && { echo no route >&2; exit 1; }; echo 3 14");
        let python = Python::at(fake(folder.path(), "echo 3 14")).unwrap();
        let message = format!("{:#}", python.environment(&environment, &["numpy==2"]).unwrap_err());
        assert!(message.contains("numpy==2") && message.contains("no route"), "{message}");
    }

    #[test]
    fn a_missing_tool_is_named() {
        require_tools(&["sh".into()]).unwrap();
        let message = require_tools(&["no-such-tool".into()]).unwrap_err().to_string();
        assert!(message.contains("no-such-tool"));
    }
}

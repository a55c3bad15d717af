//! A system in the comparison. All of them, gleann too, run as child processes that are told the same things and
//! print the same result lines, so that memory and processor time are counted alike.

use super::command::PeersArgs;
use crate::row::{Row, parse_row, read_rows};
use anyhow::{Context, Result, bail};
use gleann::{SearchKind, VectorFile, Width};
use gleann_storage::IndexDirectory;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What is the same for all.
#[derive(Debug, Clone)]
pub struct Workload {
    args: PeersArgs,
    work: PathBuf,
}

/// One run of one system.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Candidate list lengths.
    pub lists: Vec<u32>,
    /// Threads of a peer, searches in flight a core of gleann.
    pub concurrency: u32,
    /// One query in flight, each timed.
    pub one_at_a_time: bool,
}

#[derive(Debug, Clone)]
enum Kind {
    Gleann { index: Option<PathBuf>, search: SearchKind },
    Peer { python: PathBuf, driver: PathBuf },
}

/// A system in the comparison.
#[derive(Debug, Clone)]
pub struct Contender {
    /// What it is called in tables.
    pub name: String,
    folder: PathBuf,
    kind: Kind,
}

impl Workload {
    /// The workload that the arguments describe, with `work` as an absolute path.
    pub fn new(args: &PeersArgs, work: PathBuf) -> Self {
        Self { args: args.clone(), work }
    }

    fn files(&self, command: &mut Command) {
        command.arg("--query").arg(&self.args.query).arg("--truth").arg(&self.args.truth);
    }

    fn build_parameters(&self, command: &mut Command) {
        let args = &self.args;
        for (flag, value) in
            [("--degree", args.degree), ("--build-list", args.build_list), ("--pq-bytes", args.pq_bytes)]
        {
            command.args([flag, &value.to_string()]);
        }
    }
}

impl Contender {
    /// gleann with one traversal, over the index given or one built under `work`.
    pub fn gleann(work: &Path, index: Option<PathBuf>, search: SearchKind) -> Self {
        let kind = Kind::Gleann { index, search };
        Self { name: format!("gleann {search}"), folder: work.join("gleann"), kind }
    }

    /// A peer by its name.
    ///
    /// # Errors
    /// There is no such peer.
    pub fn peer(name: &str, python: &Path, drivers: &Path, work: &Path) -> Result<Self> {
        let driver = match name {
            "diskannpy" => "diskann.py",
            "hnswlib" => "hnsw.py",
            "faiss" => "faiss_hnsw.py",
            _ => bail!("--peers {name}: expected diskannpy, hnswlib or faiss"),
        };
        let kind = Kind::Peer { python: python.to_path_buf(), driver: drivers.join(driver) };
        Ok(Self { name: name.to_owned(), folder: work.join(name), kind })
    }

    /// The same system over the index in another folder.
    pub fn at(&self, folder: PathBuf) -> Self {
        Self { folder, ..self.clone() }
    }

    /// Whether this is gleann.
    pub fn is_gleann(&self) -> bool {
        matches!(self.kind, Kind::Gleann { .. })
    }

    /// Builds the index unless it is there; returns what is known of the build.
    ///
    /// # Errors
    /// The build fails.
    pub fn build(&self, workload: &Workload) -> Result<Value> {
        match &self.kind {
            Kind::Gleann { index: Some(index), .. } => Ok(read_json(&index.join("build.json"))),
            Kind::Gleann { index: None, .. } => self.build_gleann(workload),
            Kind::Peer { .. } => {
                let mut command = self.driver("build", workload);
                workload.build_parameters(&mut command);
                let lines = self.output(&mut command)?;
                serde_json::from_str(&lines)
                    .with_context(|| format!("{}: unreadable build record {lines:?}", self.name))
            }
        }
    }

    /// Runs a sweep; one row a list length.
    ///
    /// # Errors
    /// The system fails or prints something else than results.
    pub fn search(&self, workload: &Workload, plan: &Plan) -> Result<Vec<Row>> {
        let lists = plan.lists.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let shared = ["--list".to_owned(), lists.clone(), "--k".to_owned(), workload.args.k.to_string()];
        let rows = match &self.kind {
            Kind::Gleann { index, search } => {
                let index = index.as_deref().unwrap_or(&self.folder);
                let mut command = own_binary()?;
                command.arg("run-bench").args(shared).arg("--index").arg(index);
                self.search_gleann(command, *search, (workload, plan))?
            }
            Kind::Peer { .. } => {
                let mut command = self.driver("search", workload);
                command.args(shared);
                self.search_peer(command, workload, plan)?
            }
        };
        anyhow::ensure!(
            rows.len() == plan.lists.len(),
            "{}: {} results for lists {lists}",
            self.name,
            rows.len()
        );
        Ok(rows)
    }

    fn search_gleann(
        &self,
        mut command: Command,
        search: SearchKind,
        run: (&Workload, &Plan),
    ) -> Result<Vec<Row>> {
        let (workload, plan) = run;
        let out = workload.work.join("gleann-round.jsonl");
        // Rows are appended; those of an earlier round must not be read again.
        if out.exists() {
            std::fs::remove_file(&out).with_context(|| format!("cannot remove {}", out.display()))?;
        }
        let (threads, in_flight) = if plan.one_at_a_time { (1, 1) } else { (0, plan.concurrency) };
        command.args([
            "--rounds",
            "1",
            "--search",
            &search.to_string(),
            "--width",
            &workload.args.width.to_string(),
        ]);
        command.args(["--threads", &threads.to_string(), "--in-flight", &in_flight.to_string()]);
        command.arg("--out").arg(&out);
        workload.files(&mut command);
        self.output(&mut command)?;
        read_rows(&out)
    }

    fn search_peer(&self, mut command: Command, workload: &Workload, plan: &Plan) -> Result<Vec<Row>> {
        let threads = if plan.one_at_a_time { 1 } else { plan.concurrency };
        command.args(["--threads", &threads.to_string(), "--width", &beam(workload.args.width).to_string()]);
        if plan.one_at_a_time {
            command.arg("--one-at-a-time");
        }
        workload.files(&mut command);
        self.output(&mut command)?.lines().map(parse_row).collect()
    }

    fn build_gleann(&self, workload: &Workload) -> Result<Value> {
        if IndexDirectory::is_index(&self.folder) {
            self.check_finished(workload)?;
            return Ok(read_json(&self.folder.join("build.json")));
        }
        // The verb itself goes on with an interrupted build, and refuses one of other parameters.
        let mut command = own_binary()?;
        command.args(["build-index", "--metric", "l2"]);
        command.arg("--data").arg(&workload.args.base).arg("--out").arg(&self.folder);
        workload.build_parameters(&mut command);
        self.output(&mut command)?;
        Ok(read_json(&self.folder.join("build.json")))
    }

    /// Holds an index that is there already against what would be built.
    fn check_finished(&self, workload: &Workload) -> Result<()> {
        let directory = IndexDirectory::open(&self.folder)?;
        let manifest = directory.manifest();
        let rows = VectorFile::open(&workload.args.base)?.rows();
        let found = (
            u64::from(manifest.nodes),
            manifest.layout.degree(),
            manifest.parameters.build_list as usize,
            manifest.codes.bytes_per_node(),
        );
        let args = &workload.args;
        let wanted = (rows, args.degree as usize, args.build_list as usize, args.pq_bytes as usize);
        if found != wanted {
            bail!(
                "{}: the index there has (rows, degree, build list, PQ bytes) {found:?}, asked for were {wanted:?}; \
                 remove it, or choose another --work",
                self.folder.display()
            );
        }
        Ok(())
    }

    fn driver(&self, verb: &str, workload: &Workload) -> Command {
        let Kind::Peer { python, driver } = &self.kind else {
            unreachable!("gleann is not driven from Python")
        };
        let mut command = Command::new(python);
        command
            .arg("-B")
            .arg(driver)
            .args([verb, "--dir"])
            .arg(&self.folder)
            .arg("--base")
            .arg(&workload.args.base);
        command
    }

    /// Runs a command to its end and returns what it printed; its complaints are shown if it fails.
    fn output(&self, command: &mut Command) -> Result<String> {
        let output = command.stdin(Stdio::null()).output();
        let output =
            output.with_context(|| format!("{}: cannot run {:?}", self.name, command.get_program()))?;
        if !output.status.success() {
            let complaint = String::from_utf8_lossy(&output.stderr);
            let tail: Vec<&str> = complaint.lines().rev().take(20).collect();
            let tail: Vec<&str> = tail.into_iter().rev().collect();
            bail!("{} ended with {}:\n{}", self.name, output.status, tail.join("\n"));
        }
        String::from_utf8(output.stdout).with_context(|| format!("{}: output is not text", self.name))
    }
}

/// The beam width of a peer that has no dynamic width.
fn beam(width: Width) -> u32 {
    match width {
        Width::Fixed(width) => width,
        Width::Dynamic { start, .. } => start,
    }
}

fn own_binary() -> Result<Command> {
    Ok(Command::new(std::env::current_exe().context("cannot tell which program this is")?))
}

/// Runs a verb of this program to its end.
///
/// # Errors
/// It fails; what it complained of has been shown.
pub fn run_own(arguments: &[&OsStr]) -> Result<()> {
    let status = own_binary()?.args(arguments).status().context("cannot run this program")?;
    anyhow::ensure!(status.success(), "{:?} ended with {status}", arguments[0]);
    Ok(())
}

/// A build record, or nothing where there is none: it is for display only.
fn read_json(path: &Path) -> Value {
    std::fs::read_to_string(path)
        .ok()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or(Value::Null)
}

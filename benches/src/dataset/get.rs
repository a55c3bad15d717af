//! `dataset get`: makes or downloads a set, or a slice of it, and says what to do next.

use super::catalogue::{Catalogue, DataSet, Obtain, Packages};
use super::command::GetArgs;
use super::files::{SetFiles, files_of, folder_of, given_truth};
use super::python::{Python, require_tools};
use super::{crop, list, scripts, verify};
use anyhow::{Context, bail};
use gleann_vector::{Progress, sidecar_path};
use std::ffi::OsStr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Runs `dataset get`.
///
/// # Errors
/// The set is unknown or has fewer rows, or cannot be made or fetched.
pub fn run(catalogue: &Catalogue, args: &GetArgs) -> anyhow::Result<()> {
    let set = catalogue.find(&args.name)?;
    let rows = set.rows_or_all(args.rows)?;
    let files = files_of(set, &args.dir, rows);
    match &set.obtain {
        Obtain::Embedded(_) if rows != set.rows => {
            bail!("`{}` is a sample of {} rows; it is not sliced", set.name, set.rows)
        }
        Obtain::Embedded(_) => {}
        Obtain::Packages(made) => {
            make(set, made, &args.dir)?;
            let whole = files_of(set, &args.dir, set.rows);
            if !sidecar_path(&whole.truth).exists() {
                crop::vouch(&whole)?;
            }
            if rows != set.rows {
                crop::crop_base(&whole.base, &files.base, rows)?;
            }
        }
        Obtain::Download(_) | Obtain::Archive(_) => download(set, &args.dir, rows)?,
    }
    let compute = given_truth(set, rows).is_none() && !files.truth.exists() && !args.no_truth;
    if compute {
        eprintln!("no truth comes with these rows; finding it (--no-truth leaves it out)");
        crop::compute_truth(&files, &Percent::default())?;
    }
    print!("{}", report(set, &files));
    Ok(())
}

/// Runs the recipe of a set made from packages, unless it has run.
fn make(set: &DataSet, made: &Packages, dir: &Path) -> anyhow::Result<()> {
    let folder = folder_of(set, dir);
    if folder.join(super::checksum::LIST).exists() {
        eprintln!("{} is there already", folder.display());
        return Ok(());
    }
    require_tools(&made.tools)?;
    eprintln!("making {}: {}once", set.name, list::needs(set).unwrap_or_default());
    std::fs::create_dir_all(dir).with_context(|| format!("making the folder {}", dir.display()))?;
    let dir = dir.canonicalize().with_context(|| format!("finding the folder {}", dir.display()))?;
    let environment = Python::find()?.environment(&dir.join(".venv"), &scripts::pinned(&made.python)?)?;
    let recipes = scripts::unpack()?;
    let mut arguments = vec![dir.as_os_str()];
    arguments.extend(made.args.iter().map(OsStr::new));
    environment.show(&recipes.path().join(&made.script), &arguments)?;
    for note in verify::known_checksums(set, &folder)? {
        eprintln!("warning: {note}");
    }
    Ok(())
}

/// Fetches the first `rows` rows of a published set, its queries and its truth.
fn download(set: &DataSet, dir: &Path, rows: u64) -> anyhow::Result<()> {
    let recipes = scripts::unpack()?;
    let count = rows.to_string();
    let arguments = [
        OsStr::new(&set.name),
        OsStr::new("--dir"),
        dir.as_os_str(),
        OsStr::new("--rows"),
        OsStr::new(&count),
    ];
    Python::find()?.show(&recipes.path().join("download.py"), &arguments)
}

/// Where everything lies, and the command that comes next.
fn report(set: &DataSet, files: &SetFiles) -> String {
    let [base, query, truth] =
        [&files.base, &files.query, &files.truth].map(|path| path.display().to_string());
    let metric = files.metric;
    let mut text = format!("base    {base}\nquery   {query}\n");
    if files.truth.exists() {
        text += &format!("truth   {truth}\n");
    } else {
        text += &format!(
            "truth   none yet; find it with\n        cargo xtask ground-truth --base {base} --query {query} --metric \
             {metric} --out {truth}\n"
        );
    }
    text += &format!("metric  {metric}\nlicence {}\nlimits  {}\n", set.licence, set.limits);
    text += &format!(
        "next    cargo xtask build-index --data {base} --metric {metric} --out {}.index\n",
        set.name
    );
    text
}

/// Progress as lines of whole tens of per cent.
#[derive(Debug, Default)]
struct Percent {
    total: AtomicU64,
    done: AtomicU64,
}

impl Progress for Percent {
    fn phase(&self, _name: &str, total: u64) {
        self.total.store(total, Ordering::Relaxed);
        self.done.store(0, Ordering::Relaxed);
    }

    fn advance(&self, done: u64) {
        let total = u128::from(self.total.load(Ordering::Relaxed)).max(1);
        let before = self.done.fetch_add(done, Ordering::Relaxed);
        let tens = |done: u64| u128::from(done) * 10 / total;
        if tens(before) != tens(before + done) {
            eprintln!("{} %", tens(before + done) * 10);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleann_vector::Metric;
    use std::path::PathBuf;

    fn get(name: &str, dir: &Path, rows: Option<u64>) -> anyhow::Result<()> {
        let args = GetArgs { name: name.into(), dir: dir.into(), rows, no_truth: false };
        run(&Catalogue::load().unwrap(), &args)
    }

    #[test]
    fn what_cannot_be_is_refused_before_anything_is_done() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join("new");
        assert!(get("sift", &folder, None).unwrap_err().to_string().contains("sift128"));
        assert!(get("sift128", &folder, Some(2_000_000)).unwrap_err().to_string().contains("1 to 1000000"));
        assert!(get("sift-sample", &folder, Some(10)).unwrap_err().to_string().contains("not sliced"));
        assert!(!folder.exists());
        get("sift-sample", &folder, None).unwrap();
    }

    /// Resuming, slicing, archives and the messages without a network, against servers on this machine.
    #[test]
    fn downloads_pass_their_own_tests() {
        let Ok(python) = Python::find() else {
            eprintln!("skipped: no Python");
            return;
        };
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets/test_download.py");
        python.show(&tests, &[]).unwrap();
    }

    #[test]
    fn the_report_names_the_next_command() {
        let catalogue = Catalogue::load().unwrap();
        let set = catalogue.find("text2image1b").unwrap();
        let text = report(set, &files_of(set, Path::new("d"), 1000));
        assert!(text.contains("build-index --data d/text2image1b/base.1B.fbin.crop_nb_1000 --metric ip"));
        assert!(text.contains("ground-truth --base d/text2image1b/base.1B.fbin.crop_nb_1000"));
        let files = super::super::sample("sift-sample").unwrap();
        assert_eq!(files.metric, Metric::L2);
        assert!(report(set, &files).contains(&format!("truth   {}", PathBuf::from(&files.truth).display())));
    }
}

//! Where the files of a set lie.

use super::catalogue::{Catalogue, DataSet, Obtain};
use anyhow::bail;
use gleann_vector::Metric;
use std::path::{Path, PathBuf};

/// The name of a truth that is made or computed here.
const TRUTH: &str = "gt.bin";

/// The files of a data set, or of a slice of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetFiles {
    /// Base vectors.
    pub base: PathBuf,
    /// Query vectors.
    pub query: PathBuf,
    /// Ground truth of the queries in the base.
    pub truth: PathBuf,
    /// The metric of the ground truth.
    pub metric: Metric,
}

/// The files of a sample that lies in the repository: `sift-sample` or `glove-sample`.
///
/// # Errors
/// No sample has that name, or the repository this program was built in is gone.
pub fn sample(name: &str) -> anyhow::Result<SetFiles> {
    let catalogue = Catalogue::load()?;
    let set = catalogue.find(name)?;
    let Obtain::Embedded(_) = &set.obtain else {
        bail!("`{name}` is not in the repository; obtain it with `cargo xtask dataset get {name}`");
    };
    let files = files_of(set, Path::new(""), set.rows);
    if !files.base.exists() {
        bail!(
            "{} is not there: the samples lie in the repository that this program was built in; run it there",
            files.base.display()
        );
    }
    Ok(files)
}

/// The folder of a set below `dir`, or in the repository.
pub fn folder_of(set: &DataSet, dir: &Path) -> PathBuf {
    match &set.obtain {
        Obtain::Embedded(made) => {
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../datasets").join(&made.folder)
        }
        _ => dir.join(&set.name),
    }
}

/// The files of the first `rows` rows of a set whose folder lies in `dir`.
pub fn files_of(set: &DataSet, dir: &Path, rows: u64) -> SetFiles {
    let (base, query) = match &set.obtain {
        Obtain::Embedded(made) => (&made.base.name, &made.query.name),
        Obtain::Packages(made) => (&made.base.name, &made.query.name),
        Obtain::Download(remote) => (&remote.base.name, &remote.query.name),
        Obtain::Archive(archive) => (&archive.base, &archive.query),
    };
    let folder = folder_of(set, dir);
    let whole = rows == set.rows;
    let cropped = |name: &str| if whole { name.into() } else { format!("{name}.crop_nb_{rows}") };
    let truth = given_truth(set, rows).map_or_else(|| cropped(TRUTH), String::from);
    SetFiles {
        base: folder.join(cropped(member_name(base))),
        query: folder.join(member_name(query)),
        truth: folder.join(truth),
        metric: set.metric,
    }
}

/// The name of the truth that comes with the first `rows` rows, if any does; it is computed here otherwise.
pub fn given_truth(set: &DataSet, rows: u64) -> Option<&str> {
    match &set.obtain {
        Obtain::Embedded(made) => (rows == set.rows).then_some(made.truth.name.as_str()),
        Obtain::Packages(made) => (rows == set.rows).then_some(made.truth.name.as_str()),
        Obtain::Archive(archive) => (rows == set.rows).then(|| member_name(&archive.truth)),
        Obtain::Download(remote) => {
            remote.truth.iter().find(|truth| truth.rows == rows).map(|truth| truth.name.as_str())
        }
    }
}

/// The rows of every slice of a set that lies in `dir`, the whole set first if it is there.
pub fn found_slices(set: &DataSet, dir: &Path) -> Vec<u64> {
    let whole = files_of(set, dir, set.rows).base;
    let mut found: Vec<u64> = Vec::new();
    let name = whole.file_name().unwrap_or_default().to_string_lossy().into_owned() + ".crop_nb_";
    for entry in std::fs::read_dir(folder_of(set, dir)).into_iter().flatten().flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        found.extend(file.strip_prefix(&name).and_then(|rows| rows.parse::<u64>().ok()));
    }
    found.sort_unstable();
    if whole.exists() {
        found.insert(0, set.rows);
    }
    found
}

fn member_name(member: &str) -> &str {
    member.rsplit('/').next().unwrap_or(member)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(set: &str, rows: u64) -> [String; 3] {
        let catalogue = Catalogue::load().unwrap();
        let files = files_of(catalogue.find(set).unwrap(), Path::new("d"), rows);
        [files.base, files.query, files.truth].map(|path| path.to_str().unwrap().to_owned())
    }

    #[test]
    fn names_are_those_of_the_publishers_and_crops_carry_their_rows() {
        assert_eq!(
            names("sift128", 1_000_000),
            ["base.u8bin", "query.u8bin", "gt.bin"].map(|n| format!("d/sift128/{n}"))
        );
        let crop = ["base.u8bin.crop_nb_9", "query.u8bin", "gt.bin.crop_nb_9"];
        assert_eq!(names("sift128", 9), crop.map(|n| format!("d/sift128/{n}")));
        let published = ["base.1B.u8bin.crop_nb_10000000", "query.public.10K.u8bin", "bigann-10M"];
        assert_eq!(names("bigann", 10_000_000), published.map(|n| format!("d/bigann/{n}")));
        assert_eq!(names("bigann", 1000)[2], "d/bigann/gt.bin.crop_nb_1000");
        assert_eq!(names("sift1m", 1_000_000)[2], "d/sift1m/sift_groundtruth.ivecs");
        assert_eq!(names("sift1m", 5)[0], "d/sift1m/sift_base.fvecs.crop_nb_5");
    }

    #[test]
    fn slices_are_found_by_their_names() {
        let dir = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::load().unwrap();
        let set = catalogue.find("bigann").unwrap();
        assert!(found_slices(set, dir.path()).is_empty());
        std::fs::create_dir(dir.path().join("bigann")).unwrap();
        for name in ["base.1B.u8bin.crop_nb_20", "base.1B.u8bin.crop_nb_3", "base.1B.u8bin.crop_nb_7.part"] {
            std::fs::write(dir.path().join("bigann").join(name), "").unwrap();
        }
        assert_eq!(found_slices(set, dir.path()), [3, 20]);
    }

    #[test]
    fn only_samples_are_samples() {
        assert!(sample("sift-sample").unwrap().truth.exists());
        assert!(sample("bigann").unwrap_err().to_string().contains("dataset get bigann"));
    }
}

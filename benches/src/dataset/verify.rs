//! `dataset verify`: shapes, checksums and ground truth of what was made or downloaded.

use super::catalogue::{Catalogue, DataSet, MadeFile, Obtain};
use super::command::VerifyArgs;
use super::files::{SetFiles, files_of, folder_of, found_slices};
use super::list::grouped;
use super::{checksum, crop};
use anyhow::bail;
use gleann_vector::{Silent, VectorFile};
use std::path::Path;

/// Runs `dataset verify`.
///
/// # Errors
/// A set is not what it should be; all were looked at, and each fault is printed.
pub fn run(catalogue: &Catalogue, args: &VerifyArgs) -> anyhow::Result<()> {
    let slices = match &args.name {
        Some(name) => {
            let set = catalogue.find(name)?;
            vec![(set, set.rows_or_all(args.rows)?)]
        }
        None => {
            let all = catalogue.sets.iter();
            all.flat_map(|set| found_slices(set, &args.dir).into_iter().map(move |rows| (set, rows)))
                .collect()
        }
    };
    let mut failed = 0;
    for &(set, rows) in &slices {
        match check(set, &args.dir, rows) {
            Ok(notes) => {
                println!("ok     {}, {} rows", set.name, grouped(rows));
                notes.iter().for_each(|note| println!("       {note}"));
            }
            Err(error) => {
                failed += 1;
                println!("FAILED {}, {} rows: {error:#}", set.name, grouped(rows));
            }
        }
    }
    if failed > 0 {
        bail!("{failed} of {} failed", slices.len());
    }
    Ok(())
}

/// Checks one slice of a set; returns what is worth knowing.
fn check(set: &DataSet, dir: &Path, rows: u64) -> anyhow::Result<Vec<String>> {
    let files = files_of(set, dir, rows);
    let mut notes = check_shapes(set, &files, rows)?;
    let folder = folder_of(set, dir);
    if folder.join(checksum::LIST).exists() {
        notes.push(format!("{} files are as they were made", checksum::check_list(&folder)?));
    }
    notes.extend(known_checksums(set, &folder)?);
    if files.truth.exists() {
        notes.push(format!("the truth of {} queries was found anew", crop::check_truth(&files, &Silent)?));
    } else {
        notes.push(format!("there is no ground truth ({})", files.truth.display()));
    }
    Ok(notes)
}

/// Compares the files' headers with the catalogue.
fn check_shapes(set: &DataSet, files: &SetFiles, rows: u64) -> anyhow::Result<Vec<String>> {
    let may_differ = matches!(&set.obtain, Obtain::Packages(made) if !made.reproducible);
    let mut notes = Vec::new();
    for (path, expected) in [(&files.base, rows), (&files.query, set.queries)] {
        let file = VectorFile::open(path)?;
        if (file.element_type(), file.dim()) != (set.element, set.dim) {
            let (element, dim) = (file.element_type(), file.dim());
            bail!("{} holds {dim} × {element}, expected {} × {}", path.display(), set.dim, set.element);
        }
        if file.rows() != expected {
            let text = format!("{} has {} rows, expected {expected}", path.display(), file.rows());
            if !may_differ {
                bail!(text);
            }
            notes.push(format!("{text}; {}", why_it_may_differ(set)));
        }
    }
    Ok(notes)
}

/// Compares a set made from packages (or a sample) with the checksums seen so far; returns warnings.
///
/// # Errors
/// A file differs although every machine gets the same bytes, or cannot be read.
pub fn known_checksums(set: &DataSet, folder: &Path) -> anyhow::Result<Vec<String>> {
    let (made, reproducible): ([&MadeFile; 3], bool) = match &set.obtain {
        Obtain::Embedded(made) => ([&made.base, &made.query, &made.truth], true),
        Obtain::Packages(made) => ([&made.base, &made.query, &made.truth], made.reproducible),
        Obtain::Download(_) | Obtain::Archive(_) => return Ok(Vec::new()),
    };
    let mut notes = Vec::new();
    for file in made {
        let path = folder.join(&file.name);
        if file.sha256.is_empty() || !path.exists() {
            continue;
        }
        let found = checksum::sha256(&path)?;
        if file.sha256.contains(&found) {
            continue;
        }
        let text = format!("{} has SHA-256 {found}, which is not one of those known", path.display());
        if reproducible {
            bail!("{text}; remove {} and get the set again", folder.display());
        }
        notes.push(format!("{text}; {}", why_it_may_differ(set)));
    }
    Ok(notes)
}

fn why_it_may_differ(set: &DataSet) -> String {
    format!(
        "this is no fault by itself: {}. Results on it are comparable with each other, not with those on other bytes",
        set.limits
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::sample;
    use gleann_vector::{ElementType, GroundTruth, Matrix, Metric, RowSource, TruthParams, exact_truth};

    fn squared_distance<T: gleann_vector::Element>(a: &[T], b: &[T]) -> f64 {
        a.iter().zip(b).map(|(&x, &y)| (f64::from(x.to_f32()) - f64::from(y.to_f32())).powi(2)).sum()
    }

    /// The truth of every tenth query, by the plainest means.
    fn compare_with_brute_force<T: gleann_vector::Element>(files: &SetFiles) {
        let base: Matrix<T> = VectorFile::open(&files.base).unwrap().read_all().unwrap();
        let query: Matrix<T> = VectorFile::open(&files.query).unwrap().read_all().unwrap();
        let truth = GroundTruth::read(&files.truth).unwrap();
        assert_eq!((truth.queries, truth.k), (query.rows(), 100));
        for q in (0..query.rows()).step_by(10) {
            let distance = |row: usize| squared_distance(base.row(row), query.row(q));
            let mut all: Vec<(f64, u32)> = (0..base.rows()).map(|row| (distance(row), row as u32)).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let ids: Vec<u32> = all[..100].iter().map(|&(_, id)| id).collect();
            assert_eq!(truth.ids_of(q), ids, "query {q}");
            for (&given, &(exact, _)) in truth.distances_of(q).unwrap().iter().zip(&all) {
                assert_eq!(given, exact as f32, "query {q}");
            }
        }
        // No query is a base row, and no base row stands twice.
        let mut rows: Vec<&[u8]> = (0..base.rows()).map(|row| bytemuck::cast_slice(base.row(row))).collect();
        rows.sort_unstable();
        assert!(rows.windows(2).all(|pair| pair[0] != pair[1]));
        assert!((0..query.rows()).all(|q| rows.binary_search(&bytemuck::cast_slice(query.row(q))).is_err()));
    }

    #[test]
    fn the_sift_sample_and_its_truth_are_right() {
        let files = sample("sift-sample").unwrap();
        compare_with_brute_force::<u8>(&files);
    }

    #[test]
    fn the_glove_sample_and_its_truth_are_right() {
        let files = sample("glove-sample").unwrap();
        compare_with_brute_force::<f32>(&files);
        let file = VectorFile::open(&files.base).unwrap();
        let rows: Matrix<f32> = file.read_all().unwrap();
        let norm = |row: usize| rows.row(row).iter().map(|x| x * x).sum::<f32>();
        assert!((0..rows.rows()).all(|row| (norm(row) - 1.0).abs() < 1e-5));
        let words = std::fs::read_to_string(files.base.with_file_name("words.txt")).unwrap();
        assert_eq!(words.lines().count(), 5200);
    }

    #[test]
    fn the_samples_pass_as_a_whole() {
        let args = VerifyArgs { name: None, dir: "/nonexistent".into(), rows: None };
        run(&Catalogue::load().unwrap(), &args).unwrap();
    }

    #[test]
    fn damage_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let catalogue = Catalogue::load().unwrap();
        let set = catalogue.find("glove100").unwrap();
        let folder = dir.path().join("glove100");
        std::fs::create_dir(&folder).unwrap();
        let small = sample("glove-sample").unwrap();
        std::fs::copy(&small.base, folder.join("base.fbin")).unwrap();
        std::fs::copy(&small.query, folder.join("query.fbin")).unwrap();
        // What may rightly differ is told; what may not is refused.
        let files = files_of(set, dir.path(), set.rows);
        let notes = check_shapes(set, &files, set.rows).unwrap();
        assert!(notes[0].contains("5000 rows, expected 336479"), "{notes:?}");
        assert!(known_checksums(set, &folder).unwrap()[0].contains("no fault by itself"));
        let strict = catalogue.find("glove-sample").unwrap();
        let message = check_shapes(strict, &files, 4999).unwrap_err().to_string();
        assert!(message.contains("5000 rows, expected 4999"), "{message}");
        std::fs::write(folder.join("gt.bin"), "x").unwrap();
        assert!(known_checksums(strict, &folder).unwrap_err().to_string().contains("SHA-256"));
        let other = catalogue.find("deep96").unwrap();
        let message = check_shapes(other, &files, 5000).unwrap_err().to_string();
        assert!(message.contains("100 × f32, expected 96 × f32"), "{message}");
    }

    #[test]
    fn our_truth_is_the_recipes_truth() {
        let files = sample("glove-sample").unwrap();
        let base = VectorFile::open(&files.base).unwrap().source::<f32>().unwrap();
        let query: Matrix<f32> = VectorFile::open(&files.query).unwrap().read_all().unwrap();
        assert_eq!(
            (base.rows(), ElementType::F32),
            (5000, VectorFile::open(&files.base).unwrap().element_type())
        );
        let params = TruthParams { metric: Metric::L2, k: 100, block_bytes: 1 << 20 };
        let found = exact_truth(&base, &query, params, &Silent).unwrap();
        assert_eq!(found, GroundTruth::read(&files.truth).unwrap());
    }
}

//! An ann-benchmarks or VIBE file as base, queries and truth in a folder.

use super::described::{Described, describe};
use super::tables::{Stored, Table, Tables};
use super::truth::truth_of;
use anyhow::{Context, Result, bail};
use gleann_vector::{
    Element, ElementType, FileFormat, Fingerprint, Progress, TruthMeta, VectorFile, VectorWriter,
};
use std::path::{Path, PathBuf};

/// Bytes of rows that are read at a time.
const PIECE: u64 = 8 << 20;

/// Converts the file `input` into the folder `out`. Returns a line on each file that was written.
///
/// # Errors
/// As the verb.
pub fn convert_hdf5(
    input: &Path,
    out: &Path,
    with_truth: bool,
    progress: &dyn Progress,
) -> Result<Vec<String>> {
    let file = Tables::open(input)?;
    let set = describe(&file)?;
    std::fs::create_dir_all(out).with_context(|| format!("making the folder {}", out.display()))?;
    let conversion = Conversion { file: &file, set: &set, out, progress };
    match set.base.element {
        ElementType::U8 => conversion.run::<u8>(with_truth),
        ElementType::I8 => conversion.run::<i8>(with_truth),
        _ => conversion.run::<f32>(with_truth),
    }
}

struct Conversion<'a> {
    file: &'a Tables,
    set: &'a Described,
    out: &'a Path,
    progress: &'a dyn Progress,
}

impl Conversion<'_> {
    fn run<T: Element>(&self, with_truth: bool) -> Result<Vec<String>> {
        let base = self.vectors::<T>(&self.set.base, "base")?;
        let query = self.vectors::<T>(&self.set.query, "query")?;
        let mut lines: Vec<String> = [(&self.set.base, &base), (&self.set.query, &query)]
            .map(|(table, path)| line(table, path))
            .into();
        if self.file.has("learn") {
            // Out-of-distribution sets have queries to learn from.
            let table = self.file.vectors("learn")?;
            if (table.columns, table.element) == (self.set.base.columns, self.set.base.element) {
                lines.push(line(&table, &self.vectors::<T>(&table, "learn")?));
            }
        }
        if with_truth {
            lines.push(self.truth::<T>(&base, &query)?);
        }
        lines.push(format!("the metric is {}", self.set.metric));
        Ok(lines)
    }

    fn vectors<T: Element>(&self, table: &Table, name: &str) -> Result<PathBuf> {
        let format = FileFormat::big_ann(T::TYPE);
        let path = self.out.join(format!("{name}.{format}"));
        let mut writer = VectorWriter::<T>::create(&path, format, table.columns as usize)?;
        let most = (PIECE / (table.columns * 8)).max(1);
        self.progress.phase(name, table.rows);
        let mut start = 0;
        while start < table.rows {
            let count = most.min(table.rows - start);
            writer.push_rows(&self.rows::<T>(table, start, count)?)?;
            self.progress.advance(count);
            start += count;
        }
        writer.finish()?;
        Ok(path)
    }

    fn rows<T: Element>(&self, table: &Table, start: u64, count: u64) -> Result<Vec<T>> {
        // The cast is of a type to itself: `T` was chosen by what is stored.
        match table.stored {
            Stored::F32 => Ok(bytemuck::cast_slice(&self.file.rows::<f32>(table, start, count)?).to_vec()),
            Stored::U8 => Ok(bytemuck::cast_slice(&self.file.rows::<u8>(table, start, count)?).to_vec()),
            Stored::I8 => Ok(bytemuck::cast_slice(&self.file.rows::<i8>(table, start, count)?).to_vec()),
            Stored::F64 => {
                let wide = self.file.rows::<f64>(table, start, count)?;
                let narrow = wide.iter().enumerate().map(|(at, &x)| match T::from_f32(x as f32) {
                    Some(value) => Ok(value),
                    None => bail!(
                        "{}: row {} of `{}` has {x}, which no f32 holds",
                        self.file.name(),
                        start + at as u64 / table.columns,
                        table.name
                    ),
                });
                narrow.collect()
            }
            Stored::I32 | Stored::I64 => bail!("{}: `{}` holds no vectors", self.file.name(), table.name),
        }
    }

    fn truth<T: Element>(&self, base: &Path, query: &Path) -> Result<String> {
        self.progress.phase("truth", 0);
        let (base, query) = (VectorFile::open(base)?, VectorFile::open(query)?);
        let queries = query.read_all::<T>()?;
        let truth = truth_of(self.file, self.set, &base.map::<T>()?, &queries)?;
        let path = self.out.join("gt.bin");
        truth.write(&path)?;
        let (base, queries) = (Fingerprint::of(&base.source::<T>()?)?, Fingerprint::of(&queries)?);
        TruthMeta::new(self.set.metric, base, queries, &truth).write(&path)?;
        Ok(format!("{}: {} neighbours of {} queries", path.display(), truth.k, truth.queries))
    }
}

fn line(table: &Table, path: &Path) -> String {
    format!("{}: {} vectors of {} × {}", path.display(), table.rows, table.columns, table.element)
}

#[cfg(test)]
mod tests {
    use super::*;
    use gleann_vector::{GroundTruth, Matrix, Silent};
    use hdf5_pure::{AttrValue, FileBuilder};

    const DIM: usize = 7;

    type Distance<'a> = &'a dyn Fn(&[f32], &[f32]) -> f64;

    fn rows(count: usize, seed: f32) -> Vec<f32> {
        (0..count * DIM).map(|i| ((i as f32 * 0.731 + seed).sin() * 50.0).round() / 10.0).collect()
    }

    /// The five nearest of 60 rows for each of 4 queries, by brute force, on the scale of the file.
    fn neighbours(distance: Distance<'_>) -> (Vec<i64>, Vec<f64>) {
        let (base, query) = (rows(60, 0.0), rows(4, 9.0));
        let (mut ids, mut distances) = (Vec::new(), Vec::new());
        for query in query.chunks(DIM) {
            let mut all: Vec<(f64, i64)> =
                (0..60).map(|id| (distance(query, &base[id * DIM..][..DIM]), id as i64)).collect();
            all.sort_by(|a, b| a.0.total_cmp(&b.0));
            ids.extend(all[..5].iter().map(|(_, id)| *id));
            distances.extend(all[..5].iter().map(|(distance, _)| *distance));
        }
        (ids, distances)
    }

    fn dot(a: &[f32], b: &[f32]) -> f64 {
        a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    }

    fn cosine(a: &[f32], b: &[f32]) -> f64 {
        1.0 - dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    }

    fn euclidean(a: &[f32], b: &[f32]) -> f64 {
        (dot(a, a) - 2.0 * dot(a, b) + dot(b, b)).max(0.0).sqrt()
    }

    fn builder(distance: &str) -> FileBuilder {
        let mut builder = FileBuilder::new();
        builder.set_attr("distance", AttrValue::String(distance.into()));
        builder.set_attr("dimension", AttrValue::I64(DIM as i64));
        builder
    }

    fn whole(distance: &str, (ids, distances): &(Vec<i64>, Vec<f64>)) -> FileBuilder {
        let mut builder = builder(distance);
        builder.create_dataset("train").with_f32_data(&rows(60, 0.0)).with_shape(&[60, DIM as u64]);
        builder.create_dataset("test").with_f32_data(&rows(4, 9.0)).with_shape(&[4, DIM as u64]);
        builder.create_dataset("neighbors").with_i64_data(ids).with_shape(&[4, 5]);
        builder.create_dataset("distances").with_f64_data(distances).with_shape(&[4, 5]);
        builder
    }

    fn convert(builder: FileBuilder) -> (tempfile::TempDir, Result<Vec<String>>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.hdf5");
        builder.write(&path).unwrap();
        let converted = convert_hdf5(&path, &folder.path().join("out"), true, &Silent);
        (folder, converted)
    }

    #[test]
    fn vectors_and_truth_come_over_on_our_scale() {
        type Case<'a> = (&'a str, Distance<'a>, fn(f64) -> f64, &'a str);
        let cases: [Case<'_>; 3] = [
            ("euclidean", &euclidean, |d| d * d, "l2"),
            ("angular", &cosine, |d| 2.0 * d, "cosine"),
            ("ip", &|a, b| -dot(a, b), |d| -d, "ip"),
        ];
        for (name, distance, scale, metric) in cases {
            let expected = neighbours(distance);
            let (folder, lines) = convert(whole(name, &expected));
            let lines = lines.unwrap();
            assert!(lines.last().unwrap().ends_with(metric), "{lines:?}");
            let out = folder.path().join("out");
            let read = |name| VectorFile::open(out.join(name)).unwrap().read_all::<f32>().unwrap();
            let same = |found: Matrix<f32>, expected: Vec<f32>| assert_eq!(found.as_slice(), expected);
            same(read("base.fbin"), rows(60, 0.0));
            same(read("query.fbin"), rows(4, 9.0));
            let truth = GroundTruth::read(out.join("gt.bin")).unwrap();
            assert_eq!((truth.queries, truth.k), (4, 5));
            assert_eq!(truth.ids, expected.0.iter().map(|&id| id as u32).collect::<Vec<_>>());
            for (found, stored) in truth.distances.unwrap().iter().zip(&expected.1) {
                let wanted = scale(*stored);
                assert!(
                    (f64::from(*found) - wanted).abs() <= 1e-3 * wanted.abs().max(1.0),
                    "{found} {wanted}"
                );
            }
        }
    }

    #[test]
    fn a_file_that_is_not_what_it_says_is_refused() {
        let other = neighbours(&|a, b| euclidean(a, b).powi(2));
        let (_folder, refused) = convert(whole("euclidean", &other));
        let message = format!("{:#}", refused.unwrap_err());
        assert!(message.contains("neighbour 0 of query 0") && message.contains("--no-truth"), "{message}");
        let mut stranger = neighbours(&euclidean);
        stranger.0[7] = 60;
        let message = format!("{:#}", convert(whole("euclidean", &stranger)).1.unwrap_err());
        assert!(message.contains("neighbour 2 of query 1 is 60; expected a row below 60"), "{message}");
    }

    #[test]
    fn what_has_no_counterpart_is_refused_with_the_reason() {
        let refusal = |builder: FileBuilder| format!("{:#}", convert(builder).1.unwrap_err());
        assert!(refusal(builder("hamming")).contains("no hamming distance"));
        assert!(refusal(builder("manhattan")).contains("`distance` is `manhattan`; expected euclidean"));
        assert!(refusal(builder("ip")).contains("data set `train` is missing"));
        let mut bits = builder("euclidean");
        bits.set_attr("point_type", AttrValue::String("binary".into()));
        assert!(refusal(bits).contains("no Hamming distance here"));
        let mut sparse = builder("euclidean");
        sparse.set_attr("type", AttrValue::String("sparse".into()));
        assert!(refusal(sparse).contains("only `dense` vectors"));
        let mut packed = builder("euclidean");
        packed.create_dataset("train").with_u8_data(&[0; 20]).with_shape(&[4, 5]);
        packed.create_dataset("test").with_u8_data(&[0; 20]).with_shape(&[4, 5]);
        assert!(refusal(packed).contains("`dimension` is 7, but `train` has 5 columns"));
        let mut flat = builder("euclidean");
        flat.create_dataset("train").with_f32_data(&[0.0; 20]).with_shape(&[20]);
        assert!(refusal(flat).contains("`train` has the shape [20]"));
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no.hdf5");
        std::fs::write(&path, "no HDF5 at all").unwrap();
        let message = format!("{:#}", convert_hdf5(&path, folder.path(), true, &Silent).unwrap_err());
        assert!(message.contains("no.hdf5: cannot be read as HDF5"), "{message}");
    }
}

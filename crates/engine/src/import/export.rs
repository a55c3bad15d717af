//! An index of this project as the files of a DiskANN disk index.

mod pivots;
mod sectors;
mod transform;

use super::diskann::{Description, with_suffix};
use super::{GraphSource, ImportError};
use crate::build::{BuildError, thread_pool};
use gleann_graph::ListBlock;
use gleann_quant::Codebook;
use gleann_storage::{AtomicFile, StorageError, replace_file};
use gleann_vector::{Element, ElementType, Metric, Progress, RowSource, write_keys};
use half::f16;
use sectors::SectorWriter;
use std::path::{Path, PathBuf};
use transform::Transform;

/// Bytes of rows, and what belongs to them, that are held at a time.
const PIECE: usize = 8 << 20;

/// How an index is exported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportOptions {
    /// Threads that encode; 0: as many as this process may run on. They do not change the files.
    pub threads: usize,
    /// Whether files of the same names are replaced.
    pub overwrite: bool,
}

impl Default for ExportOptions {
    /// All threads, nothing is replaced.
    fn default() -> Self {
        Self { threads: 0, overwrite: false }
    }
}

/// What an export made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportReport {
    /// Number of vectors.
    pub rows: u64,
    /// Element type of the vectors in the disk file.
    pub element: ElementType,
    /// Elements a vector in the disk file: one more for inner products.
    pub dim: usize,
    /// What the search must be told, as DiskANN names it: `l2`, `mips` or `cosine`.
    pub metric: &'static str,
    /// The files, complete and durable.
    pub files: Vec<PathBuf>,
    /// What is not as it was in the index, and why.
    pub notes: Vec<String>,
}

/// Writes the index in `dir` as `PREFIX_disk.index`, `PREFIX_pq_pivots.bin` and `PREFIX_pq_compressed.bin`, which
/// DiskANN and its relatives open, with `PREFIX_metadata.bin` for diskannpy. Row `i` of the export is the vector whose key is the `i`-th smallest: where keys are
/// row numbers, results have the same ids; elsewhere `PREFIX_keys.u64bin` has the keys of the rows.
///
/// Vectors are f32, u8 or i8 as in the index (f16 becomes f32), normalised f32 under cosine, and under inner product
/// scaled into the unit ball with one more component, as DiskANN's own build does it. Memory: some 30 MiB, and 16 bytes
/// a vector where the vectors do not lie in the order of their keys.
///
/// # Errors
/// The index is damaged or has no codes, a file is there already, or cannot be written.
pub fn export_diskann(
    dir: &Path,
    prefix: &Path,
    options: &ExportOptions,
    progress: &dyn Progress,
) -> Result<ExportReport, BuildError> {
    let source = GraphSource::from_index(dir)?;
    if source.rows() == 0 {
        return Err(ImportError::unsupported(dir, "it is empty, and DiskANN opens no empty index").into());
    }
    let codebook = source.parts().codebook.as_ref().ok_or_else(|| {
        ImportError::unsupported(dir, "it has no codebook, which DiskANN needs; build it with codes")
    })?;
    let export = Export { source: &source, codebook, prefix, options, progress };
    match source.element() {
        ElementType::F32 => export.run::<f32>(),
        ElementType::F16 => export.run::<f16>(),
        ElementType::U8 => export.run::<u8>(),
        ElementType::I8 => export.run::<i8>(),
    }
}

/// An export under way.
struct Export<'a> {
    source: &'a GraphSource,
    codebook: &'a Codebook,
    prefix: &'a Path,
    options: &'a ExportOptions,
    progress: &'a dyn Progress,
}

impl Export<'_> {
    fn run<T: Element>(self) -> Result<ExportReport, BuildError> {
        let names = ["_disk.index", "_pq_pivots.bin", "_pq_compressed.bin", "_metadata.bin", "_keys.u64bin"];
        let [disk, pivots, codes, metadata, keys] = names.map(|rest| with_suffix(self.prefix, rest));
        self.expect_free(&[&disk, &pivots, &codes, &metadata, &keys])?;
        let transform = self.transform::<T>()?;
        pivots::write(&pivots, self.codebook, &transform)?;
        self.write_rows::<T>(&transform, &disk, &codes)?;
        let mut files = vec![disk, pivots, codes, metadata];
        let mut notes = transform.notes(T::TYPE);
        let own = &self.source.parts().options;
        let (rows, dim) = (self.source.rows(), self.source.dim() as u64);
        let description = Description { element: transform.element(T::TYPE), metric: own.metric, rows, dim };
        replace_file(&files[3], &description.to_bytes())?;
        if let Some(list) = &own.keys {
            write_keys(&keys, list)?;
            notes.push("keys are not row numbers: ids of results are rows of the file of keys".into());
            files.push(keys);
        }
        if own.degree > MOST_NEIGHBOURS {
            notes.push(format!("C++ DiskANN opens no graph of more than {MOST_NEIGHBOURS} neighbours"));
        }
        Ok(ExportReport {
            rows,
            element: description.element,
            dim: transform.dim(self.source.dim()),
            metric: match own.metric {
                Metric::L2 => "l2",
                Metric::InnerProduct => "mips",
                Metric::Cosine => "cosine",
            },
            files,
            notes,
        })
    }

    /// Refuses to mix files of two indexes, and removes those of an export that is to be replaced.
    fn expect_free(&self, own: &[&Path]) -> Result<(), ImportError> {
        let foreign = FOREIGN.iter().map(|rest| with_suffix(self.prefix, rest)).find(|path| path.exists());
        if let Some(path) = foreign {
            let what = "belongs to another index of this prefix and would be taken for a part of this one; \
                        choose another prefix";
            return Err(ImportError::unsupported(&path, what));
        }
        let norm = with_suffix(self.prefix, NORM);
        for path in own.iter().copied().chain([&*norm]).filter(|path| path.exists()) {
            if !self.options.overwrite {
                let what = "is there already; choose another prefix, or overwrite";
                return Err(ImportError::unsupported(path, what));
            }
            std::fs::remove_file(path).map_err(ImportError::io("removing", path))?;
        }
        Ok(())
    }

    fn piece_rows(&self) -> u64 {
        let row = self.source.dim() * 12 + 8 * self.source.parts().options.degree + self.codebook.chunks();
        (PIECE / row).max(1) as u64
    }

    /// Reads all rows in pieces.
    fn for_each_piece<T: Element>(
        &self,
        name: &str,
        mut visit: impl FnMut(u64, &[T]) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        let (rows, dim) = (self.source.rows(), self.source.dim());
        self.progress.phase(name, rows);
        let mut buffer = vec![T::zeroed(); self.piece_rows().min(rows) as usize * dim];
        let mut start = 0;
        while start < rows {
            if self.progress.cancelled() {
                return Err(StorageError::Cancelled.into());
            }
            let count = self.piece_rows().min(rows - start);
            let piece = &mut buffer[..count as usize * dim];
            RowSource::<T>::read_rows(&self.source, start, piece)?;
            visit(start, piece)?;
            self.progress.advance(count);
            start += count;
        }
        Ok(())
    }

    fn transform<T: Element>(&self) -> Result<Transform, BuildError> {
        match self.source.parts().options.metric {
            Metric::L2 if T::TYPE == ElementType::F16 => Ok(Transform::Float),
            Metric::L2 => Ok(Transform::None),
            Metric::Cosine => Ok(Transform::Normalised),
            Metric::InnerProduct => {
                let mut largest = 0.0f64;
                let dim = self.source.dim();
                self.for_each_piece::<T>("norms", |_, piece| {
                    largest = piece.chunks_exact(dim).map(transform::squared_norm).fold(largest, f64::max);
                    Ok(())
                })?;
                let norm = if largest > 0.0 { largest.sqrt() as f32 } else { 1.0 };
                Ok(Transform::Augmented { norm })
            }
        }
    }

    /// Writes vectors with their lists, and codes.
    fn write_rows<T: Element>(
        &self,
        transform: &Transform,
        disk: &Path,
        codes: &Path,
    ) -> Result<(), BuildError> {
        let (rows, dim) = (self.source.rows(), self.source.dim());
        let chunks = self.codebook.chunks();
        let pool = thread_pool(self.options.threads)?;
        let shape = sectors::Shape {
            rows: rows as u32,
            dim: transform.dim(dim),
            element: transform.element(T::TYPE),
            degree: self.source.parts().options.degree,
            medoid: self.source.parts().entry.unwrap_or(0),
        };
        if let Transform::Augmented { norm } = transform {
            pivots::write_array(&with_suffix(self.prefix, NORM), &[*norm])?;
        }
        let mut writer = SectorWriter::create(disk, shape)?;
        let mut code_file = AtomicFile::create(codes)?;
        code_file.write(&pivots::array_head(rows as u32, transform.chunks(chunks) as u32))?;
        let (mut block, mut code, mut vector) = (ListBlock::default(), Vec::new(), Vec::new());
        let mut exported = Vec::new();
        self.for_each_piece::<T>("export", |start, piece| {
            let count = piece.len() / dim;
            self.source.read_lists(start as u32, count, &mut block)?;
            code.resize(count * chunks, 0);
            pool.install(|| self.codebook.encode_rows(piece, &mut code));
            exported.clear();
            for (index, row) in piece.chunks_exact(dim).enumerate() {
                transform.vector(row, &mut vector);
                writer.push(&vector, block.list(index))?;
                exported.extend_from_slice(&code[index * chunks..][..chunks]);
                exported.extend(transform.last_code(&vector));
            }
            Ok(code_file.write(&exported)?)
        })?;
        code_file.commit()?;
        Ok(writer.finish()?)
    }
}

/// The file of the largest norm.
const NORM: &str = "_disk.index_max_base_norm.bin";
/// Files that DiskANN's family finds by the prefix and that an export does not write.
const FOREIGN: [&str; 8] = [
    "_disk.index_medoids.bin",
    "_disk.index_centroids.bin",
    "_disk.index_pq_pivots.bin",
    "_disk.index.tags",
    "_pq_pivots.bin_rotation_matrix.bin",
    "_partition.bin",
    "_partition.bin.aligned",
    "_mem.index",
];
/// The degree beyond which the C++ search refuses a graph.
const MOST_NEIGHBOURS: usize = 512;

//! An index of DiskANN's family as a source of a build.

use super::super::mem_graph::GivenMemGraph;
use super::super::nodes::Nodes;
use super::super::order::RowOrder;
use super::super::source::SourceParts;
use super::super::{GraphSource, ImportError};
use super::array::ArrayFile;
use super::description::Description;
use super::disk_file::DiskFile;
use super::element::{agreement, agrees, possible, sampled};
use super::files::DiskAnnFiles;
use super::header::Header;
use super::mem_index::read_mem_index;
use super::partition::Partition;
use super::pivots::{CodeFile, Pivots};
use crate::build::{BuildError, BuildOptions};
use gleann_quant::Codebook;
use gleann_vector::{ElementType, Key, Metric};
use std::path::Path;

impl GraphSource {
    /// Opens the index whose files begin with a prefix.
    ///
    /// Keys are what the index calls its vectors: their numbers, or PipeANN's tags. Where there is a partition, the
    /// vectors of a page stay together. The codebook is taken over where ours can be like it and its codes are those of
    /// the vectors; otherwise [`GraphSource::notes`] says why one will be trained.
    ///
    /// # Errors
    /// A file is missing, damaged, or holds what has no counterpart here; the message names file, field, what was found
    /// and what was expected.
    pub fn from_diskann(files: &DiskAnnFiles) -> Result<Self, BuildError> {
        Ok(Opening::begin(files)?.finish()?)
    }
}

/// The files while they are opened.
struct Opening<'a> {
    files: &'a DiskAnnFiles,
    metric: Metric,
    element: Option<ElementType>,
    disk: DiskFile,
    partition: Option<Partition>,
    pivots: Option<Pivots>,
    /// The codebook of the vectors as they are stored, where it can be one of ours.
    stored: Option<Codebook>,
    codes: Option<CodeFile>,
    notes: Vec<String>,
}

impl<'a> Opening<'a> {
    fn begin(files: &'a DiskAnnFiles) -> Result<Self, ImportError> {
        refuse_variants(files)?;
        let file = ArrayFile::open(&files.file("_disk.index"))?;
        let header = Header::read(&file)?;
        let partition = read_partition(files, &header)?;
        let places = partition.as_ref().map(|found| (found.places.clone(), found.pages));
        let (metric, element) = described(files, &header)?;
        if element == Some(ElementType::F16) {
            let what = "f16 is no element type of these programs; expected f32, u8 or i8";
            return Err(ImportError::unsupported(&file.path, what));
        }
        let (pivots, stored, codes, notes) = (None, None, None, Vec::new());
        let disk = DiskFile::new(file, header, places)?;
        let mut opening = Self { files, metric, element, disk, partition, pivots, stored, codes, notes };
        opening.read_quantiser()?;
        Ok(opening)
    }

    /// Reads codebook and codes, if there are some.
    fn read_quantiser(&mut self) -> Result<(), ImportError> {
        let Some(path) = self.files.existing("_pq_pivots.bin") else {
            self.notes.push("there is no _pq_pivots.bin: a codebook is trained".into());
            return Ok(());
        };
        let pivots = Pivots::read(&path)?;
        if pivots.dim != self.disk.header.dim {
            let expected = format!("{}, as in the disk index", self.disk.header.dim);
            return Err(ImportError::field(&path, "the dimension", pivots.dim, expected));
        }
        if let Some(path) = self.files.existing("_pq_compressed.bin") {
            self.codes = Some(CodeFile::open(&path, self.disk.nodes(), pivots.chunks())?);
        }
        if self.files.existing("_pq_pivots.bin_rotation_matrix.bin").is_some() {
            self.retrain("it is for rotated vectors");
            return Ok(());
        }
        match pivots.codebook(Metric::L2) {
            Ok(codebook) => (self.stored, self.pivots) = (Some(codebook), Some(pivots)),
            Err(reason) => self.retrain(&reason),
        }
        Ok(())
    }

    fn retrain(&mut self, reason: &str) {
        (self.stored, self.pivots) = (None, None);
        self.notes.push(format!("the codebook is not taken over, one is trained: {reason}"));
    }

    fn finish(mut self) -> Result<GraphSource, ImportError> {
        self.settle_element()?;
        self.settle_places()?;
        self.judge_codebook()?;
        self.settle_metric()?;
        self.note_others()?;
        let mem_graph = self.mem_graph()?;
        let codebook = self.codebook();
        let order = self.partition.take().map(|found| found.order);
        let keys = self.keys(order.as_deref())?;
        let order = order.and_then(RowOrder::of);
        let medoid = self.disk.header.medoid;
        let dim = self.disk.header.dim - usize::from(self.disk.augmented.is_some());
        Ok(GraphSource::new(SourceParts {
            dim,
            element: self.disk.element(),
            entry: Some(order.as_ref().map_or(medoid, |order| order.row(medoid))),
            order,
            options: self.options(dim, codebook.as_ref(), keys),
            codebook,
            mem_graph,
            graph: None,
            known: false,
            notes: self.notes,
            name: self.disk.path().display().to_string(),
            nodes: Nodes::DiskAnn(self.disk),
        }))
    }

    fn settle_element(&mut self) -> Result<(), ImportError> {
        if let Some(element) = self.element {
            return self.disk.set_element(element);
        }
        let found = possible(&mut self.disk)?;
        let certain = match found[..] {
            [] => None,
            [element] => Some(element),
            _ => self.by_codes(&found)?,
        };
        let Some(element) = certain else {
            let what = format!(
                "its vectors may be {}; name the element type",
                if found.is_empty() {
                    "of no known type".into()
                } else {
                    found.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
                }
            );
            return Err(ImportError::unsupported(self.disk.path(), what));
        };
        self.disk.set_element(element)
    }

    /// The type under which codes come out as they are stored, with the nodes where they lie or may lie.
    fn by_codes(&mut self, found: &[ElementType]) -> Result<Option<ElementType>, ImportError> {
        let (Some(codebook), Some(codes)) = (&self.stored, &self.codes) else { return Ok(None) };
        let mut best = (0.0, None);
        for &element in found {
            self.disk.set_element(element)?;
            for by_id in [false, true] {
                let share = self.disk.read_by_id(by_id, |disk| agreement(disk, codebook, codes))?;
                // The first of equal ones: values that are the same in both types.
                if share > best.0 {
                    best = (share, Some(element));
                }
            }
        }
        Ok(best.1.filter(|_| agrees(best.0)))
    }

    /// A partition may lie beside a file that is not laid out by it.
    fn settle_places(&mut self) -> Result<(), ImportError> {
        let (Some(codebook), Some(codes)) = (&self.stored, &self.codes) else { return Ok(()) };
        if self.partition.is_none() {
            return Ok(());
        }
        let laid_out = self.disk.read_by_id(false, |disk| agreement(disk, codebook, codes))?;
        let by_id = self.disk.read_by_id(true, |disk| agreement(disk, codebook, codes))?;
        if by_id > laid_out {
            self.disk.lie_by_id()?;
            self.notes.push("the disk index is not laid out by the partition; this one will be".into());
        }
        Ok(())
    }

    /// DiskANN scales vectors for inner products and gives them one more component.
    fn settle_metric(&mut self) -> Result<(), ImportError> {
        let path = self.files.existing("_disk.index_max_base_norm.bin");
        let disk = self.disk.path().to_owned();
        match (self.metric, path) {
            (Metric::InnerProduct, Some(path)) => {
                let file = ArrayFile::open(&path)?;
                let shape = file.shape(0, 4)?;
                let norm: Vec<f32> = file.values(shape)?;
                let usable = self.disk.element() == ElementType::F32 && self.disk.header.dim > 1;
                match norm[..] {
                    [norm] if norm.is_finite() && norm > 0.0 && usable => self.disk.augmented = Some(norm),
                    _ => {
                        let found = format!("{norm:?} over {}", self.disk.element());
                        let expected = "one norm above 0 over f32";
                        return Err(ImportError::field(&path, "the largest norm", found, expected));
                    }
                }
                self.notes.push("vectors are scaled back to their norms, with the rounding of f32".into());
            }
            (Metric::InnerProduct, None) => self.notes.push(
                "there is no _disk.index_max_base_norm.bin: vectors are taken as they are stored".into(),
            ),
            (_, Some(path)) => {
                let what = format!("{} was built for inner products; say so", disk.display());
                return Err(ImportError::unsupported(&path, what));
            }
            (_, None) => {}
        }
        Ok(())
    }

    fn judge_codebook(&mut self) -> Result<(), ImportError> {
        let Some(codebook) = &self.stored else { return Ok(()) };
        if self.metric == Metric::Cosine && !self.is_normalised()? {
            self.retrain("vectors are not normalised, and it is for vectors as they are stored");
            return Ok(());
        }
        let Some(codes) = &self.codes else {
            self.notes.push("there is no _pq_compressed.bin to hold the codebook against".into());
            return Ok(());
        };
        let share = agreement(&self.disk, codebook, codes)?;
        if !agrees(share) {
            self.retrain(&format!("only {:.1} % of the codes come out as they are stored", share * 100.0));
        }
        Ok(())
    }

    /// The codebook of the vectors as the build gets them.
    fn codebook(&mut self) -> Option<Codebook> {
        let pivots = self.pivots.as_ref()?;
        let codebook = match self.disk.augmented {
            Some(norm) => pivots.without_last(norm),
            None => pivots.codebook(self.metric),
        };
        codebook.map_err(|reason| self.retrain(&reason)).ok()
    }

    fn is_normalised(&self) -> Result<bool, ImportError> {
        if self.disk.element() != ElementType::F32 {
            return Ok(false);
        }
        let rows = sampled::<f32>(&self.disk)?;
        let norm = |row: &[f32]| row.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>();
        Ok((0..rows.rows()).all(|row| (norm(rows.row(row)) - 1.0).abs() < 1e-3))
    }

    fn note_others(&mut self) -> Result<(), ImportError> {
        if let Some(path) = self.files.existing("_disk.index_medoids.bin") {
            let file = ArrayFile::open(&path)?;
            let count = file.shape(0, 4)?.rows;
            if count > 1 {
                self.notes.push(format!(
                    "of {count} medoids, searches begin at the one in the header of the disk index"
                ));
            }
        }
        match &self.partition {
            Some(found) if found.gaps > 0 => self.notes.push(format!(
                "{} pages of the partition are not full; their vectors are packed together at the end",
                found.gaps
            )),
            _ => {}
        }
        Ok(())
    }

    /// The navigation graph, with its nodes as rows.
    fn mem_graph(&mut self) -> Result<Option<GivenMemGraph>, ImportError> {
        let Some(index) = self.files.existing("_mem.index") else { return Ok(None) };
        let Some(tags) = self.files.existing("_mem.index.tags") else {
            let note =
                "there is no _mem.index.tags to tell which vectors _mem.index is over: it is not taken over";
            self.notes.push(note.into());
            return Ok(None);
        };
        let mut graph = read_mem_index(&index, &tags, self.disk.nodes())?;
        if let Some(found) = &self.partition {
            let mut row_of_node = vec![0u32; found.order.len()];
            found.order.iter().zip(0..).for_each(|(&node, row)| row_of_node[node as usize] = row);
            graph.rows.iter_mut().for_each(|row| *row = row_of_node[*row as usize]);
        }
        Ok(Some(graph))
    }

    /// The keys of rows, unless they are row numbers.
    fn keys(&self, order: Option<&[u32]>) -> Result<Option<Vec<Key>>, ImportError> {
        let nodes = self.disk.nodes();
        let names = match (self.files.existing("_disk.index.tags"), self.files.existing("_keys.u64bin")) {
            (Some(path), _) => {
                Some(self.names::<u32>(&path)?.into_iter().map(Key::from).collect::<Vec<Key>>())
            }
            (None, Some(path)) => Some(self.names::<u64>(&path)?),
            (None, None) => None,
        };
        let key = |row: u32| {
            let node = order.map_or(row, |order| order[row as usize]);
            names.as_ref().map_or(Key::from(node), |names| names[node as usize])
        };
        let numbers = (0..nodes).all(|row| key(row) == Key::from(row));
        Ok((!numbers).then(|| (0..nodes).map(key).collect()))
    }

    /// PipeANN's tags, or the keys of an export: one for each node.
    fn names<N: bytemuck::Pod>(&self, path: &Path) -> Result<Vec<N>, ImportError> {
        let file = ArrayFile::open(path)?;
        let shape = file.shape(0, size_of::<N>())?;
        if (shape.rows, shape.columns) != (self.disk.nodes(), 1) {
            let found = format!("{} × {}", shape.rows, shape.columns);
            let expected = format!("{} × 1, one for each node of the disk index", self.disk.nodes());
            return Err(ImportError::field(path, "the array of keys", found, expected));
        }
        file.expect_end(shape, size_of::<N>())?;
        file.values(shape)
    }

    fn options(&self, dim: usize, codebook: Option<&Codebook>, keys: Option<Vec<Key>>) -> BuildOptions {
        let defaults = BuildOptions::default();
        let degree = self.disk.degree();
        BuildOptions {
            metric: self.metric,
            degree,
            build_list: defaults.build_list.max(degree),
            pq_bytes: codebook.map_or(defaults.pq_bytes.min(dim), Codebook::chunks),
            keys,
            ..defaults
        }
    }
}

/// Metric and element type, as given or as the index says.
fn described(files: &DiskAnnFiles, header: &Header) -> Result<(Metric, Option<ElementType>), ImportError> {
    let Some(path) = files.existing("_metadata.bin") else {
        return Ok((files.metric.unwrap_or(Metric::L2), files.element));
    };
    let found = Description::read(&path)?;
    let stored = found.dim + u64::from(found.metric == Metric::InnerProduct);
    if (found.rows, stored) != (header.nodes.into(), header.dim as u64) {
        let expected = format!("{} of {}, as in the disk index", header.nodes, header.dim);
        let found = format!("{} of {stored}", found.rows);
        return Err(ImportError::field(&path, "the number and dimension of vectors", found, expected));
    }
    if let Some(metric) = files.metric.filter(|&metric| metric != found.metric) {
        return Err(ImportError::field(&path, "the metric", found.metric, format!("{metric}, as given")));
    }
    if let Some(element) = files.element.filter(|&element| element != found.element) {
        let expected = format!("{element}, as given");
        return Err(ImportError::field(&path, "the element type", found.element, expected));
    }
    Ok((found.metric, Some(found.element)))
}

/// Refuses indexes whose disk file does not hold the vectors.
fn refuse_variants(files: &DiskAnnFiles) -> Result<(), ImportError> {
    match files.existing("_disk.index_pq_pivots.bin") {
        Some(path) => Err(ImportError::unsupported(
            &path,
            "the disk index holds compressed vectors (PQ_disk_bytes); build it with full vectors",
        )),
        None => Ok(()),
    }
}

fn read_partition(files: &DiskAnnFiles, header: &Header) -> Result<Option<Partition>, ImportError> {
    let found = files.partition.clone();
    let found = found.or_else(|| files.existing("_partition.bin.aligned"));
    let Some(path) = found.or_else(|| files.existing("_partition.bin")) else { return Ok(None) };
    Partition::read(&ArrayFile::open(&path)?, header).map(Some)
}

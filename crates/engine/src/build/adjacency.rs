//! The work file `adjacency`: every list of the graph, in rows of one length, in the order of ids.
//!
//! A row is the degree and R places for ids, as u32 of this machine. Nothing of it is trusted when it is read.

use super::BuildError;
use gleann_graph::{AdjacencyRows, ListBlock};
use gleann_storage::AtomicFile;
use std::cell::RefCell;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes gathered before a write.
const BUFFER: usize = 1 << 20;

/// Writes the lists, in the order of ids.
#[derive(Debug)]
pub(crate) struct AdjacencyWriter {
    file: AtomicFile,
    words: Vec<u32>,
    stride: usize,
}

impl AdjacencyWriter {
    pub(crate) fn create(path: &Path, nodes: u32, degree: usize) -> Result<Self, BuildError> {
        let file = AtomicFile::create(path)?;
        file.reserve(file_bytes(nodes, degree))?;
        Ok(Self { file, words: Vec::with_capacity(BUFFER / 4 + degree + 1), stride: degree + 1 })
    }

    pub(crate) fn push(&mut self, list: &[u32]) -> Result<(), BuildError> {
        assert!(list.len() < self.stride, "{} ids in a row of {} words", list.len(), self.stride);
        let end = self.words.len() + self.stride;
        self.words.push(list.len() as u32);
        self.words.extend_from_slice(list);
        self.words.resize(end, 0);
        if self.words.len() >= BUFFER / 4 { self.write_out() } else { Ok(()) }
    }

    fn write_out(&mut self) -> Result<(), BuildError> {
        self.file.write(bytemuck::cast_slice(&self.words))?;
        self.words.clear();
        Ok(())
    }

    /// Makes the file durable.
    pub(crate) fn finish(mut self) -> Result<(), BuildError> {
        self.write_out()?;
        Ok(self.file.commit()?)
    }
}

/// The lists, to be read in ranges and replaced one by one.
#[derive(Debug)]
pub(crate) struct AdjacencyFile {
    file: File,
    path: PathBuf,
    nodes: u32,
    degree: usize,
    words: RefCell<Vec<u32>>,
}

impl AdjacencyFile {
    /// # Errors
    /// It cannot be opened or has not the length of `nodes` lists of at most `degree`.
    pub(crate) fn open(path: &Path, nodes: u32, degree: usize, write: bool) -> Result<Self, BuildError> {
        let file = OpenOptions::new().read(true).write(write).open(path);
        let file = file.map_err(BuildError::io("opening", path))?;
        let found = file.metadata().map_err(BuildError::io("asking the length of", path))?.len();
        let expected = file_bytes(nodes, degree);
        if found != expected {
            return Err(BuildError::damaged(path, format!("it has {found} bytes, expected {expected}")));
        }
        Ok(Self { file, path: path.to_owned(), nodes, degree, words: RefCell::default() })
    }

    /// Makes replaced lists durable.
    pub(crate) fn sync(&self) -> Result<(), BuildError> {
        self.file.sync_all().map_err(BuildError::io("fsync of", &self.path))
    }

    fn offset(&self, id: u32) -> u64 {
        u64::from(id) * 4 * (self.degree as u64 + 1)
    }

    fn list<'a>(&self, id: u32, row: &'a [u32]) -> Result<&'a [u32], BuildError> {
        let list = row.get(1..1 + row[0] as usize);
        match list.filter(|list| list.iter().all(|&other| other < self.nodes && other != id)) {
            Some(list) => Ok(list),
            None => Err(BuildError::damaged(&self.path, format!("the list of node {id} is impossible"))),
        }
    }
}

impl AdjacencyRows for AdjacencyFile {
    type Error = BuildError;

    fn nodes(&self) -> u32 {
        self.nodes
    }

    fn degree_bound(&self) -> usize {
        self.degree
    }

    fn read(&self, start: u32, count: u32, into: &mut ListBlock) -> Result<(), BuildError> {
        let mut words = self.words.borrow_mut();
        words.resize(count as usize * (self.degree + 1), 0);
        let bytes = bytemuck::cast_slice_mut(&mut words[..]);
        let read = self.file.read_exact_at(bytes, self.offset(start));
        read.map_err(BuildError::io("reading", &self.path))?;
        into.clear();
        for (id, row) in (start..).zip(words.chunks_exact(self.degree + 1)) {
            into.push(self.list(id, row)?);
        }
        Ok(())
    }

    fn replace(&mut self, id: u32, list: &[u32]) -> Result<(), BuildError> {
        assert!(list.len() <= self.degree, "{} neighbours, {} allowed", list.len(), self.degree);
        let words = self.words.get_mut();
        words.clear();
        words.push(list.len() as u32);
        words.extend_from_slice(list);
        words.resize(self.degree + 1, 0);
        let written =
            self.file.write_all_at(bytemuck::cast_slice(words), u64::from(id) * 4 * (self.degree as u64 + 1));
        written.map_err(BuildError::io("writing", &self.path))
    }
}

/// Length of the file.
fn file_bytes(nodes: u32, degree: usize) -> u64 {
    u64::from(nodes) * 4 * (degree as u64 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_and_nonsense_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("adjacency");
        let mut writer = AdjacencyWriter::create(&path, 3, 2).unwrap();
        for list in [&[1u32, 2][..], &[], &[0]] {
            writer.push(list).unwrap();
        }
        writer.finish().unwrap();
        let mut file = AdjacencyFile::open(&path, 3, 2, true).unwrap();
        file.replace(1, &[2]).unwrap();
        let mut block = ListBlock::default();
        file.read(0, 3, &mut block).unwrap();
        assert_eq!((block.list(0), block.list(1), block.list(2)), (&[1, 2][..], &[2][..], &[0][..]));
        for bad in [&[1u32][..], &[3], &[0, 7]] {
            file.replace(1, bad).unwrap();
            let error = file.read(1, 1, &mut block).unwrap_err().to_string();
            assert!(
                error.contains("the list of node 1 is impossible") && error.contains("restart"),
                "{error}"
            );
        }
        std::fs::write(&path, [255; 36]).unwrap();
        assert!(AdjacencyFile::open(&path, 3, 2, false).unwrap().read(0, 1, &mut block).is_err());
        assert!(AdjacencyFile::open(&path, 4, 2, false).is_err());
    }
}

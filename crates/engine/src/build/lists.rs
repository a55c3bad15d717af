//! The lists of one shard, as they are merged: one after the other, each its length and its ids (u32).

use super::BuildError;
use gleann_storage::AtomicFile;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Bytes gathered before a write.
const BUFFER: usize = 1 << 20;

/// Writes lists one after the other.
#[derive(Debug)]
pub(crate) struct ListWriter {
    file: AtomicFile,
    words: Vec<u32>,
}

impl ListWriter {
    pub(crate) fn create(path: &Path) -> Result<Self, BuildError> {
        Ok(Self { file: AtomicFile::create(path)?, words: Vec::new() })
    }

    pub(crate) fn push(&mut self, list: impl ExactSizeIterator<Item = u32>) -> Result<(), BuildError> {
        self.words.push(list.len() as u32);
        self.words.extend(list);
        if self.words.len() >= BUFFER / 4 { self.write_out() } else { Ok(()) }
    }

    fn write_out(&mut self) -> Result<(), BuildError> {
        self.file.write(bytemuck::cast_slice(&self.words))?;
        self.words.clear();
        Ok(())
    }

    pub(crate) fn finish(mut self) -> Result<(), BuildError> {
        self.write_out()?;
        Ok(self.file.commit()?)
    }
}

/// Reads lists one after the other through a buffer of its own. The file is open only while the buffer is
/// filled: there may be more shards than files a process may hold open.
#[derive(Debug)]
pub(crate) struct ListReader {
    path: PathBuf,
    length: u64,
    /// Where the next fill begins.
    offset: u64,
    words: Vec<u32>,
    position: usize,
    most: usize,
}

impl ListReader {
    /// A reader of at most `buffer` bytes, which must hold the longest list.
    pub(crate) fn new(path: PathBuf, buffer: usize) -> Result<Self, BuildError> {
        let length = std::fs::metadata(&path).map_err(BuildError::io("opening", &path))?.len();
        Ok(Self { path, length, offset: 0, words: Vec::new(), position: 0, most: buffer / 4 })
    }

    /// The next list.
    pub(crate) fn next(&mut self) -> Result<&[u32], BuildError> {
        if self.end_of_list().is_none() {
            self.fill()?;
        }
        let Some(end) = self.end_of_list() else {
            return Err(BuildError::damaged(&self.path, "it ends inside a list"));
        };
        let start = self.position + 1;
        self.position = end;
        Ok(&self.words[start..end])
    }

    /// Where the next list ends, if all of it is in the buffer.
    fn end_of_list(&self) -> Option<usize> {
        let length = *self.words.get(self.position)? as usize;
        let end = (self.position + 1).checked_add(length)?;
        (end <= self.words.len()).then_some(end)
    }

    fn fill(&mut self) -> Result<(), BuildError> {
        self.words.drain(..self.position);
        self.position = 0;
        let kept = self.words.len();
        let more = ((self.length - self.offset) / 4).min((self.most - kept) as u64) as usize;
        self.words.reserve_exact(more);
        self.words.resize(kept + more, 0);
        let bytes = bytemuck::cast_slice_mut(&mut self.words[kept..]);
        let read = File::open(&self.path).and_then(|file| file.read_exact_at(bytes, self.offset));
        read.map_err(BuildError::io("reading", &self.path))?;
        self.offset += 4 * more as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_through_any_buffer() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lists");
        let lists: Vec<Vec<u32>> =
            (0..200u32).map(|i| (0..i * 7 % 11).map(|j| i * 100 + j).collect()).collect();
        let mut writer = ListWriter::create(&path).unwrap();
        lists.iter().for_each(|list| writer.push(list.iter().copied()).unwrap());
        writer.finish().unwrap();
        for buffer in [44, 45, 64, 1000, 1 << 20] {
            let mut reader = ListReader::new(path.clone(), buffer).unwrap();
            for list in &lists {
                assert_eq!(reader.next().unwrap(), list, "buffer {buffer}");
            }
            assert!(reader.next().is_err());
        }
    }
}

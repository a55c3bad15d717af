//! Starling's `_partition.bin` and PipeANN's `_partition.bin.aligned`: which nodes share a page.
//!
//! Both begin with three u64: nodes a page, pages, nodes. Starling goes on with each page's number of nodes and their
//! ids, and ends with the page of every node. PipeANN pads every page with 2³² − 1 and ends there.

use super::super::ImportError;
use super::array::ArrayFile;
use super::header::Header;
use super::words::Words;

/// What an aligned file has where a page has no node.
const NOBODY: u32 = u32::MAX;

/// A partition of the nodes into pages.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Partition {
    /// All nodes, page after page, full pages first, so that they stay pages whose gaps are left out.
    pub order: Vec<u32>,
    /// The place of every node in a file laid out by this partition.
    pub places: Vec<u32>,
    pub pages: u64,
    /// Pages that are not full, the last one aside.
    pub gaps: u64,
}

impl Partition {
    /// # Errors
    /// The file cannot be read, is not a partition of the nodes of `header`, or has a node twice or not at all.
    pub(crate) fn read(file: &ArrayFile, header: &Header) -> Result<Self, ImportError> {
        let mut head = [0u64; 3];
        file.read(0, &mut head)?;
        let [capacity, pages, nodes] = head;
        let per_page = header.nodes_per_block() as u64;
        let wrong =
            |field, found: u64, expected: String| Err(ImportError::field(&file.path, field, found, expected));
        if nodes != u64::from(header.nodes) {
            return wrong("the number of nodes", nodes, format!("{}, as in the disk index", header.nodes));
        }
        if capacity != per_page {
            return wrong("the nodes of a page", capacity, format!("{per_page}, as in the disk index"));
        }
        // A place has 32 bits.
        let most = u64::from(u32::MAX) / per_page;
        if !(nodes.div_ceil(per_page)..=most).contains(&pages) {
            return wrong("the number of pages", pages, format!("{} to {most}", nodes.div_ceil(per_page)));
        }
        let aligned = 24 + u128::from(pages) * u128::from(per_page) * 4;
        let plain = 24 + u128::from(pages) * 4 + u128::from(nodes) * 8;
        let length = u128::from(file.length);
        if length != aligned && length != plain {
            let expected = format!("{plain} (Starling) or {aligned} (PipeANN) for {pages} pages");
            return wrong("the length in bytes", file.length, expected);
        }
        let mut filling = Filling::new(file, header.nodes, per_page as u32);
        if length == plain {
            filling.plain(pages as u32)?
        } else {
            filling.aligned(pages as u32)?
        }
        filling.finish(pages)
    }
}

/// A partition while its pages are read.
struct Filling<'a> {
    file: &'a ArrayFile,
    per_page: u32,
    places: Vec<u32>,
    full: Vec<u32>,
    rest: Vec<u32>,
    gaps: u64,
}

impl<'a> Filling<'a> {
    fn new(file: &'a ArrayFile, nodes: u32, per_page: u32) -> Self {
        let places = vec![NOBODY; nodes as usize];
        Self { file, per_page, places, full: Vec::new(), rest: Vec::new(), gaps: 0 }
    }

    /// Pages with their lengths, read in pieces.
    fn plain(&mut self, pages: u32) -> Result<(), ImportError> {
        let mut words = Words::new(self.file, 24);
        let mut ids = Vec::new();
        for page in 0..pages {
            let size = words.next()?;
            if size > self.per_page {
                let found = format!("{size} in page {page}");
                let expected = format!("at most {}", self.per_page);
                return Err(ImportError::field(&self.file.path, "the nodes of a page", found, expected));
            }
            ids.clear();
            for _ in 0..size {
                ids.push(words.next()?);
            }
            self.page(page, &ids)?;
        }
        Ok(())
    }

    fn aligned(&mut self, pages: u32) -> Result<(), ImportError> {
        let mut words = Words::new(self.file, 24);
        let mut ids = Vec::new();
        for page in 0..pages {
            ids.clear();
            for _ in 0..self.per_page {
                ids.push(words.next()?);
            }
            let used = ids.iter().position(|&id| id == NOBODY).unwrap_or(ids.len());
            self.page(page, &ids[..used])?;
        }
        Ok(())
    }

    fn page(&mut self, page: u32, ids: &[u32]) -> Result<(), ImportError> {
        for (slot, &id) in (0..).zip(ids) {
            match self.places.get_mut(id as usize) {
                Some(place) if *place == NOBODY => *place = page * self.per_page + slot,
                found => {
                    let why = if found.is_some() { "twice" } else { "no node" };
                    let found = format!("{id} in page {page}");
                    let expected = format!("every node once (this is {why})");
                    return Err(ImportError::field(&self.file.path, "a node", found, expected));
                }
            }
        }
        let full = ids.len() == self.per_page as usize;
        if full { &mut self.full } else { &mut self.rest }.extend_from_slice(ids);
        self.gaps += u64::from(!full);
        Ok(())
    }

    fn finish(self, pages: u64) -> Result<Partition, ImportError> {
        let Self { file, places, full: mut order, rest, gaps, .. } = self;
        if let Some(node) = places.iter().position(|&place| place == NOBODY) {
            return Err(ImportError::field(
                &file.path,
                "a node",
                format!("{node} in no page"),
                "every node once",
            ));
        }
        order.extend_from_slice(&rest);
        Ok(Partition { order, places, pages, gaps: gaps.saturating_sub(1) })
    }
}

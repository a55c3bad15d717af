//! Vectors and lists become pages, and codes and keys files, in the order of internal ids.

use super::BuildError;
use super::adjacency::AdjacencyFile;
use super::codes::{CODES, CodeRows};
use super::gather::Gather;
use super::placement::Placement;
use super::run::Run;
use gleann_graph::{AdjacencyRows, ListBlock};
use gleann_storage::{GraphWriter, HEADER_BYTES, Layout, MemberEntry, MemberKind, MemberWriter, NewRecord};
use gleann_vector::{Element, Key, NodeId};

impl<T: Element> Run<'_, T> {
    /// Writes the graph file; the codes, where they are members and not in the order of rows; and the keys, where
    /// there are some or ids are not row numbers.
    pub(crate) fn write_pages(&mut self) -> Result<(), BuildError> {
        let layout = self.plan.layout;
        let placement = self.placement()?;
        let mut piece = Piece::new(layout);
        let mut shape = Shape { layout, degrees: vec![0; layout.degree() + 1], page_mates: 0 };
        let mut entries = Vec::new();
        entries.push(self.write_graph(&placement, &mut piece, &mut shape)?);
        drop(piece);
        if self.writes_codes_by_place() {
            entries.push(self.write_codes(&placement)?);
        }
        if placement.is_shuffled() || self.options.keys.is_some() {
            entries.push(self.write_keys(&placement)?);
        }
        entries.iter().for_each(|entry| self.work.add_member(entry));
        while shape.degrees.len() > 1 && shape.degrees.last() == Some(&0) {
            shape.degrees.pop();
        }
        self.work.state.degrees = shape.degrees;
        self.work.state.page_mates = shape.page_mates;
        Ok(())
    }

    fn write_graph(
        &self,
        placement: &Placement,
        piece: &mut Piece<T>,
        shape: &mut Shape,
    ) -> Result<MemberEntry, BuildError> {
        let layout = self.plan.layout;
        let path = self.work.path(self.repaired_file());
        let lists = AdjacencyFile::open(&path, self.nodes(), layout.degree(), false)?;
        let codes = match layout.code_bytes() {
            0 => None,
            bytes => Some(CodeRows::open(&self.work.path(CODES), self.nodes(), bytes)?.read_all()?),
        };
        let mut writer = GraphWriter::create(self.work.dir(), layout, self.nodes(), self.manifest.build_id)?;
        self.for_each_place("pages", |first, count| {
            piece.gather.set((first..first + count).map(|place| placement.row(place)));
            piece.read_vectors(self, count)?;
            piece.read_lists(&lists, count)?;
            for index in 0..count {
                let neighbours = piece.neighbours(index, codes.as_deref(), placement);
                shape.count(first + index, neighbours);
                writer.push(&piece.record(index))?;
            }
            Ok(())
        })?;
        Ok(writer.finish()?)
    }

    fn write_codes(&self, placement: &Placement) -> Result<MemberEntry, BuildError> {
        let bytes = self.options.pq_bytes;
        let codes = CodeRows::open(&self.work.path(CODES), self.nodes(), bytes)?;
        let payload = self.plan.rows * bytes as u64;
        let mut writer =
            MemberWriter::create(self.work.dir(), MemberKind::Codes, self.manifest.build_id, payload)?;
        let (mut gather, mut gathered, mut buffer) = (Gather::default(), Vec::new(), Vec::new());
        self.for_each_place("codes", |first, count| {
            gather.set((first..first + count).map(|place| placement.row(place)));
            gathered.resize(count as usize * bytes, 0);
            gather.for_each_range(bytes, |start, rows, wanted| {
                buffer.resize(rows as usize * bytes, 0);
                codes.read(start, &mut buffer)?;
                scatter(&buffer, (start, wanted), bytes, &mut gathered);
                Ok::<(), BuildError>(())
            })?;
            Ok(writer.write(&gathered)?)
        })?;
        Ok(writer.finish()?)
    }

    fn write_keys(&self, placement: &Placement) -> Result<MemberEntry, BuildError> {
        let keys = self.options.keys.as_deref();
        let key = |row: u32| keys.map_or(Key::from(row), |keys| keys[row as usize]);
        let (dir, build_id) = (self.work.dir(), self.manifest.build_id);
        let mut writer = MemberWriter::create(dir, MemberKind::Keys, build_id, self.plan.rows * 8)?;
        let mut piece: Vec<u64> = Vec::new();
        self.for_each_place("keys", |first, count| {
            piece.clear();
            piece.extend((first..first + count).map(|place| key(placement.row(place)).to_le()));
            Ok(writer.write(bytemuck::cast_slice(&piece))?)
        })?;
        debug_assert_eq!(HEADER_BYTES % 8, 0);
        Ok(writer.finish()?)
    }

    /// Visits all places in pieces that fit the budget: the first, and how many.
    fn for_each_place(
        &self,
        name: &str,
        mut visit: impl FnMut(u32, u32) -> Result<(), BuildError>,
    ) -> Result<(), BuildError> {
        self.progress.phase(name, self.plan.rows);
        let most = self.plan.jobs.page_rows as u32;
        let mut first = 0;
        while first < self.nodes() {
            self.expect_not_cancelled()?;
            let count = most.min(self.nodes() - first);
            visit(first, count)?;
            self.progress.advance(count.into());
            first += count;
        }
        Ok(())
    }
}

/// Copies the wanted of the rows from `start` on to where they are wanted; a row takes `length` elements.
fn scatter<E: Copy>(from: &[E], (start, wanted): (u32, &[(u32, u32)]), length: usize, into: &mut [E]) {
    for &(row, position) in wanted {
        let source = &from[(row - start) as usize * length..][..length];
        into[position as usize * length..][..length].copy_from_slice(source);
    }
}

/// What belongs to consecutive places.
struct Piece<T> {
    layout: Layout,
    gather: Gather,
    vectors: Vec<T>,
    /// For each place its degree and R places for ids.
    lists: Vec<u32>,
    rows: Vec<T>,
    block: ListBlock,
    /// The neighbours of one place, and their codes.
    neighbours: Vec<u32>,
    codes: Vec<u8>,
}

impl<T: Element> Piece<T> {
    fn new(layout: Layout) -> Self {
        Self {
            layout,
            gather: Gather::default(),
            vectors: Vec::new(),
            lists: Vec::new(),
            rows: Vec::new(),
            block: ListBlock::default(),
            neighbours: Vec::new(),
            codes: Vec::new(),
        }
    }

    fn read_vectors(&mut self, run: &Run<'_, T>, count: u32) -> Result<(), BuildError> {
        let dim = self.layout.dim();
        self.vectors.resize(count as usize * dim, T::zeroed());
        self.gather.for_each_range(dim * size_of::<T>(), |start, rows, wanted| {
            self.rows.resize(rows as usize * dim, T::zeroed());
            run.input.rows.read_rows(start.into(), &mut self.rows)?;
            scatter(&self.rows, (start, wanted), dim, &mut self.vectors);
            Ok(())
        })
    }

    fn read_lists(&mut self, lists: &AdjacencyFile, count: u32) -> Result<(), BuildError> {
        let stride = self.layout.degree() + 1;
        self.lists.resize(count as usize * stride, 0);
        self.gather.for_each_range(4 * stride, |start, rows, wanted| {
            lists.read(start, rows, &mut self.block)?;
            for &(row, position) in wanted {
                let list = self.block.list((row - start) as usize);
                let place = &mut self.lists[position as usize * stride..];
                place[0] = list.len() as u32;
                place[1..=list.len()].copy_from_slice(list);
            }
            Ok(())
        })
    }

    /// Looks up the places and the codes of the neighbours of the place `index` of the piece.
    fn neighbours(&mut self, index: u32, codes: Option<&[u8]>, placement: &Placement) -> &[u32] {
        let list = &self.lists[index as usize * (self.layout.degree() + 1)..];
        let rows = &list[1..=list[0] as usize];
        self.neighbours.clear();
        self.neighbours.extend(rows.iter().map(|&row| placement.place(row)));
        self.codes.clear();
        if let Some(codes) = codes {
            let bytes = self.layout.code_bytes();
            for &row in rows {
                self.codes.extend_from_slice(&codes[row as usize * bytes..][..bytes]);
            }
        }
        &self.neighbours
    }

    fn record(&self, index: u32) -> NewRecord<'_, T> {
        let dim = self.layout.dim();
        let vector = &self.vectors[index as usize * dim..][..dim];
        NewRecord { vector, neighbours: &self.neighbours, codes: &self.codes }
    }
}

/// What is counted of the finished graph.
struct Shape {
    layout: Layout,
    degrees: Vec<u64>,
    page_mates: u64,
}

impl Shape {
    fn count(&mut self, id: u32, list: &[u32]) {
        self.degrees[list.len()] += 1;
        let page = self.layout.block_of(NodeId(id));
        self.page_mates +=
            list.iter().filter(|&&other| self.layout.block_of(NodeId(other)) == page).count() as u64;
    }
}

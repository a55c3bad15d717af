//! A live index: a graph on disk, what has changed since the last checkpoint, and the log that makes changes last.

use crate::areas::read_area;
use crate::backend::Backend;
use crate::buffer::Buffer;
use crate::crew::Crew;
use crate::error::UpdateError;
use crate::figures::Figures;
use crate::key_map::KeyMap;
use crate::operation::Operation;
use crate::pages::{Pages, PagesPlace};
use crate::params::LinkParams;
use crate::repair::RepairPolicy;
use crate::root::{Portion, Root};
use crate::wal::{Durability, Lsn, Wal, WalOptions};
use crate::writer::{NewNode, Writer};
use gleann_graph::PruneSpace;
use gleann_quant::{Codebook, Codes, Encoder};
use gleann_search::{
    Cache, Changes, EntryPoints, Estimates, MemGraph, NodeTable, Overlay, SearchIndex, Version, View, Written,
};
use gleann_storage::{Area, BuildId, Layout, LogicalBlock, Record, Volume, record_bytes};
use gleann_vector::{Distance, Element, Matrix, Metric, NodeId};
use parking_lot::Mutex;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// What a live index is made of, beside its blocks, table and log.
pub struct LiveParts<T: Element> {
    /// Its directory.
    pub volume: Arc<dyn Volume>,
    /// What ties its files together.
    pub index: BuildId,
    /// Record geometry.
    pub layout: Layout,
    /// How near two vectors are.
    pub metric: Metric,
    /// What codes mean.
    pub codebook: Codebook,
    /// The navigation graph, where it has one.
    pub mem_graph: Option<MemGraph<T>>,
    /// Called before anybody reads by a new page table: caches of the old one's blocks end here.
    pub before_switch: Box<dyn Fn() + Send + Sync>,
    /// Who computes checkpoints and merges.
    pub crew: Arc<dyn Crew>,
}

/// How a live index takes updates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LiveOptions {
    /// When an acknowledged operation survives a crash.
    pub durability: Durability,
    /// How new vectors are linked.
    pub link: LinkParams,
    /// Memory for changes since the last checkpoint, in bytes: past it, a checkpoint is due.
    pub overlay_bytes: usize,
    /// Vectors that a temporary index takes before it is merged.
    pub buffer_vectors: usize,
    /// Blocks that a checkpoint writes before it switches tables: what they took is free for the next ones, so that the
    /// file need not hold everything twice. 0: an eighth of all.
    pub portion_blocks: u32,
    /// What of a deleted node's neighbours takes its place in a list.
    pub repair: RepairPolicy,
    /// Memory that a repair may take to find out what can no longer be reached, usually [`REPAIR_BYTES`](crate::REPAIR_BYTES).
    /// With less than the lists of all nodes take, only nodes that no list names are found.
    pub repair_bytes: usize,
    /// Bytes of a segment of the log.
    pub segment_bytes: u64,
}

/// What an insert came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Insert {
    /// The vector is in the index.
    Inserted,
    /// The key is taken; nothing has changed.
    AlreadyExists,
}

/// What an upsert came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Upsert {
    /// The key is new.
    Inserted,
    /// The vector has taken the place of another.
    Replaced,
}

/// What a delete came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delete {
    /// The vector is gone.
    Deleted,
    /// There is no such key; nothing has changed.
    NotFound,
}

/// A live index. Any thread may call it; searches go through [`Live::index`].
pub struct Live<T: Element> {
    pub(crate) index: Arc<SearchIndex<T>>,
    pub(crate) changes: Arc<Changes<T>>,
    /// What ties its files together.
    pub(crate) id: BuildId,
    pub(crate) before_switch: Box<dyn Fn() + Send + Sync>,
    pub(crate) crew: Arc<dyn Crew>,
    pub(crate) pages: Pages,
    pub(crate) wal: Wal,
    pub(crate) backend: Backend,
    pub(crate) unbuilt: bool,
    pub(crate) space: PruneSpace,
    pub(crate) max_norm: f32,
    pub(crate) options: LiveOptions,
    pub(crate) writer: Mutex<Writer<T>>,
    /// Held by the one checkpoint or merge there may be at a time.
    pub(crate) maintenance: Mutex<()>,
    pub(crate) figures: Figures,
}

impl<T: Element> Live<T> {
    /// Opens a live index as the last checkpoint left it, and does again what the log says has been done since.
    ///
    /// # Errors
    /// A file is missing or damaged, or the system refused.
    pub fn open(parts: LiveParts<T>, options: LiveOptions) -> Result<Self, UpdateError> {
        let LiveParts { volume, index: id, layout, metric, codebook, mem_graph, before_switch, crew } = parts;
        let place = PagesPlace { volume: volume.clone(), index: id, layout: layout.block_layout() };
        let (pages, root) = Pages::open(place)?;
        let damaged =
            |found: String| UpdateError::Damaged { path: volume.path(crate::pages::TABLE_NAME), found };
        if root.is_empty() {
            let found = "making it a live index was interrupted; do it again";
            return Err(UpdateError::Unfinished { path: volume.path(""), found });
        }
        let root = Root::from_bytes(&root).map_err(damaged)?;
        let nodes = Arc::new(load_nodes(&pages, &root, (&layout, &codebook))?);
        let keys = KeyMap::of(&nodes, root.states.len() as u32)
            .map_err(|key| damaged(format!("two live nodes have the key {key}")))?;
        let view = View {
            table: pages.table(),
            overlays: smallvec![Arc::new(Overlay::new())],
            written: Written::default(),
            entry: root.entry,
            nodes,
        };
        let version = Version { view: Arc::new(view.clone()), unmerged: SmallVec::new() };
        let changes = Arc::new(Changes::new(version));
        let mut writer = Writer::new(layout, view, keys, changes.clone());
        writer.graph = root.graph;
        let space = PruneSpace::new(metric, layout.dim(), root.max_norm);
        let log = log_options(id, &root, &options);
        let distance = Distance::new(metric, layout.dim());
        let new_buffer = || Buffer::new(distance, space, &options);
        let mut replay = Replay {
            writer: &mut writer,
            layout: &layout,
            codebook: &codebook,
            code: vec![0; codebook.chunks()],
            encoder: Encoder::new(&codebook),
            new_buffer: &new_buffer,
            graph: root.graph,
            written: root.written,
        };
        let wal = Wal::open(volume.clone(), log, &mut |lsn, record| {
            let path = volume.path("wal-*.gln");
            let damaged = |found| UpdateError::Damaged { path, found: format!("record {}: {found}", lsn.0) };
            replay.apply(lsn, record).map_err(damaged)
        })?;
        writer.buffers.iter().for_each(|held| held.buffer.index().link_from(0));
        writer.publish();
        let index = searched((layout, metric), codebook, mem_graph, &changes);
        Ok(Self {
            index: Arc::new(index),
            id,
            changes,
            before_switch,
            crew,
            pages,
            wal,
            backend: root.backend,
            unbuilt: false,
            space,
            max_norm: root.max_norm,
            options,
            writer: Mutex::new(writer),
            maintenance: Mutex::new(()),
            figures: Figures::default(),
        })
    }

    /// The same index, of which the build had no vectors: whatever its backend, all that come are buffered, because the codes
    /// of its graph say nothing, until a graph is built of them.
    #[must_use]
    pub fn unbuilt(self) -> Self {
        Self { unbuilt: true, ..self }
    }

    /// Number of vectors.
    pub fn len(&self) -> usize {
        self.writer.lock().live()
    }

    /// Whether there is no vector.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What searches of it share.
    pub fn index(&self) -> &Arc<SearchIndex<T>> {
        &self.index
    }

    /// How inserts reach the graph.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// What codes mean.
    pub(crate) fn codebook(&self) -> &Codebook {
        self.index.estimates.codebook().expect("a live index has codes")
    }

    /// Deletes the vector of a key. [`Live::settled`] says when that is to last.
    ///
    /// # Errors
    /// The log cannot be written; nothing has changed.
    pub fn delete(&self, key: u64) -> Result<(Delete, Option<Lsn>), UpdateError> {
        let mut writer = self.writer.lock();
        if !writer.has(key) {
            return Ok((Delete::NotFound, None));
        }
        let mut record = Vec::new();
        Operation::Delete { key }.encode(&mut record);
        let lsn = self.wal.append(&record)?;
        writer.remove(key);
        Ok((Delete::Deleted, Some(lsn)))
    }

    /// Returns when an operation will survive a crash, as far as the durability option promises that.
    ///
    /// # Errors
    /// The log cannot be written: nothing more is acknowledged, reads go on.
    pub fn settled(&self, lsn: Option<Lsn>) -> Result<(), UpdateError> {
        lsn.map_or(Ok(()), |lsn| Ok(self.wal.commit(lsn)?))
    }

    /// Makes everything that was done last, whatever the durability option.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn flush(&self) -> Result<(), UpdateError> {
        Ok(self.wal.flush()?)
    }

    /// The vector of a key.
    ///
    /// # Errors
    /// Its block cannot be read.
    pub fn get(&self, key: u64) -> Result<Option<Vec<T>>, UpdateError> {
        let (node, view) = {
            let writer = self.writer.lock();
            for held in &writer.buffers {
                if let Some(&slot) = held.slots.get(&key) {
                    return Ok(Some(held.buffer.index().vector(slot).to_vec()));
                }
            }
            let Some(node) = writer.node_of(key) else { return Ok(None) };
            (node, writer.view.clone())
        };
        let mut record = Vec::new();
        self.record(&view, node, &mut record)?;
        let fields = Record::decode(&self.index.layout, &record, view.nodes.places() as u32)
            .map_err(|cause| self.damaged_node(node, &cause))?;
        let bytes: &[u8] = &record[..self.index.layout.dim() * size_of::<T>()];
        debug_assert_eq!(fields.degree(), fields.neighbours().len());
        Ok(Some(bytemuck::pod_collect_to_vec(bytes)))
    }

    /// The record of a node as a view has it, but for what has joined its list.
    pub(crate) fn record(&self, view: &View, node: u32, into: &mut Vec<u8>) -> Result<(), UpdateError> {
        into.clear();
        if view.with_new_record(node, |record| into.extend_from_slice(record)) {
            return Ok(());
        }
        let layout = &self.index.layout;
        let mut block = vec![0; layout.block_bytes()];
        let index = layout.block_of(NodeId(node)).0;
        self.pages.read(&view.table, LogicalBlock { area: Area::Records, index }, &mut block)?;
        into.extend_from_slice(record_bytes(layout, &block, layout.slot_of(NodeId(node))));
        Ok(())
    }

    pub(crate) fn damaged_node(&self, node: u32, cause: &dyn std::fmt::Display) -> UpdateError {
        UpdateError::Damaged { path: self.pages.path().to_owned(), found: format!("node {node}: {cause}") }
    }
}

/// The log of an index that has one.
fn log_options(id: BuildId, root: &Root, options: &LiveOptions) -> WalOptions {
    WalOptions {
        id: id.0,
        first_segment: root.first_segment,
        begins: false,
        segment_bytes: options.segment_bytes,
        durability: options.durability,
    }
}

/// What searches share: everything that changes is in `changes`.
fn searched<T: Element>(
    (layout, metric): (Layout, Metric),
    codebook: Codebook,
    mem_graph: Option<MemGraph<T>>,
    changes: &Arc<Changes<T>>,
) -> SearchIndex<T> {
    let empty = Codes::new(Matrix::zeroed(0, codebook.chunks()), &codebook).expect("no code is wrong");
    SearchIndex {
        layout,
        nodes: 0,
        distance: Distance::new(metric, layout.dim()),
        estimates: Estimates::Memory { codebook, codes: empty },
        entry: EntryPoints { medoid: None, mem_graph },
        cache: Cache::Empty,
        changes: Some(changes.clone()),
    }
}

/// Codes, keys and states as of the last checkpoint.
fn load_nodes(
    pages: &Pages,
    root: &Root,
    (layout, codebook): (&Layout, &Codebook),
) -> Result<NodeTable, UpdateError> {
    let table = pages.table();
    let places = root.states.len();
    let damaged = |found: String| UpdateError::Damaged { path: pages.path().to_owned(), found };
    if places != table.records().len() * layout.records_per_block() {
        let found =
            format!("the root has {places} places, the table {} record blocks", table.records().len());
        return Err(damaged(found));
    }
    let mut codes = Matrix::<u8>::zeroed(places, codebook.chunks());
    read_area(pages, (&table, Area::Codes), (places, codebook.chunks()), |id, code| {
        codes.row_mut(id).copy_from_slice(code);
    })?;
    let codes = Codes::new(codes, codebook).map_err(|error| damaged(error.to_string()))?;
    let nodes = NodeTable::new(codes);
    read_area(pages, (&table, Area::Keys), (places, 8), |id, key| {
        let key = u64::from_le_bytes(key.try_into().expect("keys are 8 bytes"));
        nodes.restore(id as u32, key, root.states[id]);
    })?;
    Ok(nodes)
}

/// Does again what the log says.
struct Replay<'a, T: Element> {
    writer: &'a mut Writer<T>,
    layout: &'a Layout,
    codebook: &'a Codebook,
    code: Vec<u8>,
    encoder: Encoder,
    new_buffer: &'a dyn Fn() -> Buffer<T>,
    graph: Lsn,
    written: Portion,
}

impl<T: Element> Replay<'_, T> {
    /// What is wrong with a record, in words, if it cannot be done again.
    fn apply(&mut self, lsn: Lsn, record: &[u8]) -> Result<(), String> {
        let vector_bytes = self.layout.dim() * size_of::<T>();
        let operation = Operation::decode(record, vector_bytes)
            .ok_or_else(|| format!("a record of {} bytes is no operation of this index", record.len()))?;
        if lsn <= self.graph {
            self.apply_to_buffers(&operation);
            return Ok(());
        }
        match operation {
            Operation::Delete { key } => {
                self.writer.remove(key);
                Ok(())
            }
            Operation::Put { key, vector } => {
                let vector: Vec<T> = bytemuck::pod_collect_to_vec(vector);
                self.writer.put(key, &vector, self.new_buffer);
                Ok(())
            }
            Operation::Insert { key, node, list, mut links, vector } => {
                // What a checkpoint that was cut short has written already.
                let Portion { nodes, lsn: last } = self.written;
                links.retain(|&(id, _)| lsn > last || id >= nodes);
                self.insert(&NewNode { key, node, list: &list, links: &links, vector, code: &[] })
            }
        }
    }

    /// An operation that is in the blocks as far as it is about the graph.
    fn apply_to_buffers(&mut self, operation: &Operation<'_>) {
        let (Operation::Delete { key } | Operation::Put { key, .. } | Operation::Insert { key, .. }) =
            *operation;
        self.writer.remove_buffered(key);
        if let Operation::Put { vector, .. } = operation {
            let vector: Vec<T> = bytemuck::pod_collect_to_vec(vector);
            self.writer.buffer(key, &vector, self.new_buffer);
        }
    }

    fn insert(&mut self, new: &NewNode<'_>) -> Result<(), String> {
        let node = new.node;
        self.writer
            .placement
            .take_exactly(node)
            .map_err(|()| format!("node {node} is inserted in a place that is taken"))?;
        self.writer.make_room(node);
        let known = |id: u32| (id as usize) < self.writer.nodes().places();
        let ids = new.list.iter().copied().chain(new.links.iter().map(|&(id, _)| id));
        if new.list.len() > self.layout.degree() || ids.into_iter().any(|id| !known(id)) {
            return Err(format!("node {node} is inserted with neighbours that cannot be"));
        }
        let vector: Vec<T> = bytemuck::pod_collect_to_vec(new.vector);
        self.encoder.encode(self.codebook, &vector, &mut self.code);
        self.writer.insert(&NewNode { code: &self.code, ..*new });
        Ok(())
    }
}

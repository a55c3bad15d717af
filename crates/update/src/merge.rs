//! StreamingMerge (FreshDiskANN): what the temporary index holds goes into the graph, deleted nodes go out of it, in one
//! checkpoint. Searches, inserts and deletes go on meanwhile.
//!
//! The insert phase links every vector as a direct insert is linked, but into an overlay that nobody else sees; since its
//! searches see it, vectors that are merged together are linked to each other as well. The delete phase and the patch phase
//! are one pass over the blocks ([`Rewriter`]), in which full lists that gathered new neighbours are pruned.

use crate::buffer::Buffer;
use crate::checkpoint::{Frozen, Rewrite};
use crate::direct::{Committed, Linked, Outcome};
use crate::error::UpdateError;
use crate::figures::Figures;
use crate::linking::{Joining, Linker, Verdict};
use crate::live::Live;
use crate::rewrite::Rewriter;
use crate::runner::{InsertJob, Inserted, Inserts, Runner};
use crate::writer::{Held, NewNode, Writer};
use gleann_search::{Changes, Link, NodeState, Overlay, Turn, Version, View};
use gleann_storage::{Clock, PageIo, StorageError};
use gleann_vector::Element;
use parking_lot::Mutex;
use smallvec::{SmallVec, smallvec};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Share of deleted nodes from which on they go before others come.
const DEAD_FIRST: f64 = 0.1;
/// Vectors that one thread of a merge links at a time.
const IN_FLIGHT: usize = 8;
const MAX_WAIT: Duration = Duration::from_millis(1);

/// A vector of a temporary index, and the node it has become.
#[derive(Clone, Copy)]
struct Move {
    node: u32,
    buffer: usize,
    slot: u32,
}

/// The insert phase.
struct Merging<T: Element> {
    live: Arc<Live<T>>,
    changes: Arc<Changes<T>>,
    overlay: Arc<Overlay>,
    /// The view of the merge, replaced when the node table grows or the first node comes.
    view: Mutex<View>,
}

impl<T: Element> Live<T> {
    /// Merges everything that is buffered into the graph, and takes deleted nodes out of it. Runs on the caller's rayon
    /// pool, with a disk of each thread's own. Waits for a checkpoint that is under way.
    ///
    /// # Errors
    /// The system refused, or a block is damaged: the index is as before, and this can be tried again.
    pub fn merge<Io: PageIo, C: Clock + Clone + Sync>(
        self: &Arc<Self>,
        disk: &(dyn Fn() -> io::Result<Io> + Sync),
        clock: &C,
    ) -> Result<(), UpdateError> {
        // Deleted nodes take places in the pools of searches, and are no neighbours: where there are many, they go first.
        if self.dead_share() >= DEAD_FIRST {
            self.checkpoint(Rewrite::Repaired)?;
        }
        let _turn = self.maintenance.lock();
        let (mut frozen, buffers) = self.freeze(true, true)?;
        let merging = Arc::new(Merging::new(self, &frozen));
        let moves = Mutex::new(Vec::new());
        let merged = self
            .insert_phase(&merging, &buffers, (disk, clock), &moves)
            .and_then(|()| self.finish_merge(&mut frozen, &merging, &buffers, &moves.lock()));
        if merged.is_err() {
            self.give_up(&moves.lock());
        }
        merged?;
        Ok(self.wal.remove_before(frozen.segment)?)
    }

    fn insert_phase<Io: PageIo, C: Clock + Clone + Sync>(
        self: &Arc<Self>,
        merging: &Arc<Merging<T>>,
        buffers: &[Arc<Buffer<T>>],
        (disk, clock): (&(dyn Fn() -> io::Result<Io> + Sync), &C),
        moves: &Mutex<Vec<Move>>,
    ) -> Result<(), UpdateError> {
        let all: Vec<(usize, u32)> = buffers
            .iter()
            .enumerate()
            .flat_map(|(at, buffer)| (0..buffer.index().len() as u32).map(move |slot| (at, slot)))
            .filter(|&(at, slot)| buffers[at].index().is_live(slot))
            .collect();
        let next = AtomicUsize::new(0);
        let failure = Mutex::new(None);
        rayon::scope(|scope| {
            for _ in 0..rayon::current_num_threads() {
                scope.spawn(|_| {
                    let run = || {
                        let path = self.pages.path().to_owned();
                        let disk =
                            disk().map_err(|source| StorageError::Io { action: "opening", path, source })?;
                        let runner =
                            Runner::into(self.clone(), merging.clone(), (disk, clock.clone()), IN_FLIGHT);
                        merging.link_all(runner, (&all, &next), buffers, moves)
                    };
                    if let Err(error) = run() {
                        failure.lock().get_or_insert(error);
                        next.store(all.len(), Ordering::Relaxed);
                    }
                });
            }
        });
        failure.into_inner().map_or(Ok(()), Err)
    }

    /// The pass over the blocks, and the switch.
    fn finish_merge(
        &self,
        frozen: &mut Frozen,
        merging: &Merging<T>,
        buffers: &[Arc<Buffer<T>>],
        moves: &[Move],
    ) -> Result<(), UpdateError> {
        let view = merging.view.lock().clone();
        frozen.nodes = view.nodes.clone();
        let end = moves.iter().map(|moved| moved.node as usize + 1).max().unwrap_or(0);
        frozen.states.resize(frozen.states.len().max(end), NodeState::Free);
        moves.iter().for_each(|moved| frozen.states[moved.node as usize] = NodeState::Live);
        let overlays = frozen.overlays.iter().cloned().chain([merging.overlay.clone()]).collect();
        let mut rewriter = Rewriter {
            frozen: overlays,
            joining: Joining::Gather,
            entry: view.entry,
            repair: true,
            ..Rewriter::of(self, frozen)
        };
        let rewritten = rewriter.run(self.pages.begin()?, &mut |portion| Ok(portion.commit))?;
        let sealed = self.seal(frozen, &rewriter, rewritten, |states| {
            for moved in moves {
                if !buffers[moved.buffer].index().is_live(moved.slot) {
                    states[moved.node as usize] = NodeState::Dead;
                }
            }
        })?;
        let mut writer = self.writer.lock();
        self.take_over(&mut writer, buffers, moves);
        self.bring_into_force(&mut writer, frozen, (&rewriter.table, sealed));
        if !self.is_buffered() {
            // Direct inserts go on meanwhile. From here on they link to merged nodes, which the views of older searches do
            // not have: those must not see them.
            writer.view.overlays.push(Arc::new(Overlay::new()));
        }
        writer.publish();
        Figures::add(&self.figures.checkpoints, 1);
        Ok(())
    }

    /// What was merged is in the graph from here on, and no longer in its temporary index.
    fn take_over(&self, writer: &mut Writer<T>, buffers: &[Arc<Buffer<T>>], moves: &[Move]) {
        let merged = |held: &Held<T>| buffers.iter().any(|buffer| Arc::ptr_eq(buffer, &held.buffer));
        writer.buffers.retain(|held| !merged(held));
        if !self.is_buffered() {
            // Nobody will fill it, and the log must not be kept for it.
            writer.buffers.retain(|held| !held.buffer.index().is_empty());
        }
        for moved in moves {
            // Deleted since, or its key put again.
            if buffers[moved.buffer].index().is_live(moved.slot) {
                let nodes = writer.view.nodes.clone();
                writer.keys.insert(&nodes, moved.node);
            } else {
                writer.bury(moved.node);
            }
        }
    }

    /// A merge has failed: the places it took are free again. Nobody but the merge has seen them.
    fn give_up(&self, moves: &[Move]) {
        let mut writer = self.writer.lock();
        writer.repairing = false;
        for moved in moves {
            writer.view.nodes.mark(moved.node, NodeState::Free);
            writer.placement.give_back(moved.node);
        }
    }
}

impl<T: Element> Merging<T> {
    fn new(live: &Arc<Live<T>>, frozen: &Frozen) -> Self {
        let overlay = Arc::new(Overlay::new());
        let mut overlays: SmallVec<[Arc<Overlay>; 2]> = frozen.overlays.iter().cloned().collect();
        overlays.push(overlay.clone());
        let (table, nodes) = (frozen.table.clone(), frozen.nodes.clone());
        let view = View { table, overlays, written: frozen.written, entry: frozen.entry, nodes };
        let version = Version { view: Arc::new(view.clone()), unmerged: smallvec![] };
        let changes = Arc::new(Changes::new(version));
        Self { live: live.clone(), changes, overlay, view: Mutex::new(view) }
    }

    /// Links vectors until there are none left.
    fn link_all<Io: PageIo, C: Clock>(
        &self,
        mut runner: Runner<T, Io, C, (usize, u32)>,
        (all, next): (&[(usize, u32)], &AtomicUsize),
        buffers: &[Arc<Buffer<T>>],
        moves: &Mutex<Vec<Move>>,
    ) -> Result<(), UpdateError> {
        let mut failure = None;
        loop {
            while failure.is_none() && runner.has_room() {
                let Some(&job) = all.get(next.fetch_add(1, Ordering::Relaxed)) else { break };
                let index = buffers[job.0].index();
                let (key, vector) = (index.key(job.1), index.vector(job.1).to_vec());
                let insert = InsertJob { key, vector, replace: false, job };
                runner.start(insert).map_err(|(_, error)| error)?;
            }
            let turn = runner.turn(&mut |(buffer, slot), inserted| match inserted {
                Ok(committed) => {
                    moves.lock().extend(committed.node.map(|node| Move { node, buffer, slot }));
                }
                Err(error) => failure = Some(error),
            });
            match turn {
                Turn::Busy => {}
                Turn::Waiting => runner.wait(MAX_WAIT),
                Turn::Idle => match failure {
                    Some(error) => return Err(error),
                    None if next.load(Ordering::Relaxed) >= all.len() => return Ok(()),
                    None => {}
                },
            }
        }
    }
}

impl<T: Element> Inserts<T> for Merging<T> {
    fn changes(&self) -> &Arc<Changes<T>> {
        &self.changes
    }

    fn linker(&self) -> Linker {
        Linker::new(self.live.space, self.live.codebook(), self.live.options.link, Joining::Gather)
    }

    /// Links a vector into the merge's own overlay.
    fn commit(&self, linker: &mut Linker, linked: &Linked<'_, T>) -> Inserted {
        let mut view = self.view.lock();
        let mut list: Vec<u32> = linker.list().to_vec();
        if list.is_empty() {
            list.extend(view.entry);
        }
        let mut writer = self.live.writer.lock();
        let node = writer.take_place(&list).ok_or(UpdateError::Full)?;
        let joins = linker.joins().iter().filter(|join| join.verdict == Verdict::Room);
        let mut to: Vec<u32> = joins.map(|join| join.node).collect();
        if to.is_empty() {
            to.extend(list.first());
        }
        let links: Vec<(u32, Link)> =
            to.into_iter().map(|id| (id, Link { joins: node, leaves: None })).collect();
        let bytes = bytemuck::cast_slice(linked.vector);
        let code = linker.code();
        let new = NewNode { key: linked.key, node, list: &list, links: &links, vector: bytes, code };
        writer.settle(&new, &self.overlay);
        let grown = !Arc::ptr_eq(&view.nodes, &writer.view.nodes);
        if grown || view.entry.is_none() {
            view.nodes = writer.view.nodes.clone();
            view.entry = view.entry.or(Some(node));
            let version = Version { view: Arc::new(view.clone()), unmerged: smallvec![] };
            self.changes.publish(version);
        }
        Ok(Committed { outcome: Outcome::Inserted, node: Some(node), lsn: None })
    }
}

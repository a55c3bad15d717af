//! StreamingMerge (FreshDiskANN): what the temporary index holds goes into the graph, deleted nodes go out of it, in one
//! checkpoint. Searches, inserts and deletes go on meanwhile.
//!
//! The insert phase links every vector as a direct insert is linked, but into an overlay that nobody else sees; since its
//! searches see it, vectors that are merged together are linked to each other as well. The delete phase and the patch phase
//! are one pass over the blocks ([`Rewriter`]), in which full lists that gathered new neighbours are pruned.

use crate::buffer::Buffer;
use crate::checkpoint::{Frozen, Rewrite};
use crate::crew::Worker;
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
        let share = Share { all, next: AtomicUsize::new(0), buffers, moves, failure: Mutex::new(None) };
        self.crew.run(&|| {
            let path = self.pages.path().to_owned();
            match disk() {
                Ok(disk) => {
                    let runner =
                        Runner::into(self.clone(), merging.clone(), (disk, clock.clone()), IN_FLIGHT);
                    Box::new(MergeWorker { runner, share: &share })
                }
                Err(source) => {
                    share.fail(StorageError::Io { action: "opening", path, source }.into());
                    Box::new(Nothing)
                }
            }
        });
        share.failure.into_inner().map_or(Ok(()), Err)
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
}

/// The vectors of an insert phase, which several share.
struct Share<'a, T: Element> {
    all: Vec<(usize, u32)>,
    next: AtomicUsize,
    buffers: &'a [Arc<Buffer<T>>],
    moves: &'a Mutex<Vec<Move>>,
    failure: Mutex<Option<UpdateError>>,
}

/// One member's part in it.
struct MergeWorker<'a, T: Element, Io: PageIo, C: Clock> {
    runner: Runner<T, Io, C, (usize, u32)>,
    share: &'a Share<'a, T>,
}

/// The part of a member that can do nothing.
struct Nothing;

impl<T: Element> Share<'_, T> {
    /// Nothing is left to do.
    fn fail(&self, error: UpdateError) {
        self.failure.lock().get_or_insert(error);
        self.next.store(self.all.len(), Ordering::Relaxed);
    }

    fn take(&self) -> Option<InsertJob<T, (usize, u32)>> {
        // Not past the end again and again, where the number might wrap.
        let next = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
            (next < self.all.len()).then_some(next + 1)
        });
        let job = self.all[next.ok()?];
        let index = self.buffers[job.0].index();
        let (key, vector) = (index.key(job.1), index.vector(job.1).to_vec());
        Some(InsertJob { key, vector, replace: false, job })
    }
}

impl<T: Element, Io: PageIo, C: Clock> Worker for MergeWorker<'_, T, Io, C> {
    fn step(&mut self, spent: &mut dyn FnMut() -> bool) -> Turn {
        let Self { runner, share } = self;
        while runner.has_room()
            && let Some(insert) = share.take()
        {
            if let Err((_, error)) = runner.start(insert) {
                share.fail(error);
            }
        }
        let mut take = |(buffer, slot), inserted: Inserted| match inserted {
            Ok(committed) => {
                let moved = committed.node.map(|node| Move { node, buffer, slot });
                share.moves.lock().extend(moved);
            }
            Err(error) => share.fail(error),
        };
        match runner.step(&mut take, spent) {
            // The last one it had has ended, and there was no room for others before.
            Turn::Idle if share.next.load(Ordering::Relaxed) < share.all.len() => Turn::Busy,
            turn => turn,
        }
    }

    fn wait(&mut self, timeout: Duration) {
        self.runner.wait(timeout);
    }
}

impl Worker for Nothing {
    fn step(&mut self, _: &mut dyn FnMut() -> bool) -> Turn {
        Turn::Idle
    }

    fn wait(&mut self, _: Duration) {}
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

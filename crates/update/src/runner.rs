//! Runs inserts one core can: searches for their neighbours interleaved, each linked and committed when its search has
//! ended. What a worker thread does in a loop, and a test in virtual time.

use crate::direct::{Committed, Linked};
use crate::error::UpdateError;
use crate::figures::Figures;
use crate::linking::Linker;
use crate::live::Live;
use gleann_lios::Step;
use gleann_search::{Changes, Driver, Harvest, Query, SearchError, SearchOptions, ToInsert, Turn};
use gleann_storage::{BlockReader, Clock, PageIo, ReadTarget};
use gleann_vector::Element;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// A vector to be inserted.
#[derive(Debug, Clone)]
pub struct InsertJob<T, J> {
    /// Its key.
    pub key: u64,
    /// The vector, checked against the index.
    pub vector: Vec<T>,
    /// Whether it may take the place of another of its key.
    pub replace: bool,
    /// The caller's name for it.
    pub job: J,
}

/// What an insert came to.
pub type Inserted = Result<Committed, UpdateError>;

/// Where inserts go.
pub trait Inserts<T: Element>: Send + Sync {
    /// What the searches for neighbours see.
    fn changes(&self) -> &Arc<Changes<T>>;

    /// The memory for linking one vector after the other.
    fn linker(&self) -> Linker;

    /// Takes a vector whose linking `linker` has computed.
    ///
    /// # Errors
    /// It could not be taken; nothing has changed.
    fn commit(&self, linker: &mut Linker, linked: &Linked<'_, T>) -> Inserted;
}

/// The inserts of one core.
pub struct Runner<T: Element, Io: PageIo, C: Clock, J> {
    live: Arc<Live<T>>,
    inserts: Arc<dyn Inserts<T>>,
    driver: Driver<ToInsert<T>, Io, C, InsertJob<T, J>>,
    linker: Linker,
    search: SearchOptions,
    /// Inserts whose searches have ended, in that order.
    ended: VecDeque<(InsertJob<T, J>, Result<Harvest, SearchError>)>,
    linking: Option<Linking<T, J>>,
}

/// An insert that is being linked.
struct Linking<T, J> {
    insert: InsertJob<T, J>,
    harvest: Harvest,
    /// Those of all linkings before.
    comparisons: u64,
}

impl<T: Element, Io: PageIo, C: Clock, J> Runner<T, Io, C, J> {
    /// A runner of at most `slots` (≥ 1) inserts at a time over `io`, which reads the index's block file.
    pub fn new(live: Arc<Live<T>>, io: Io, clock: C, slots: usize) -> Self {
        Self::into(live.clone(), live, (io, clock), slots)
    }

    /// A runner whose inserts go elsewhere than into the graph that everybody sees.
    pub(crate) fn into(
        live: Arc<Live<T>>,
        inserts: Arc<dyn Inserts<T>>,
        (io, clock): (Io, C),
        slots: usize,
    ) -> Self {
        let index = live.index().clone();
        let target = ReadTarget {
            file: live.pages.path().into(),
            layout: index.layout.block_layout(),
            blocks: u64::MAX,
        };
        let search = live.options.link.search(index.entry.mem_graph.is_some());
        let to_insert = ToInsert { index, changes: inserts.changes().clone() };
        let driver = Driver::new(Arc::new(to_insert), BlockReader::new(io, target), clock, slots);
        Self {
            linker: inserts.linker(),
            inserts,
            live,
            driver,
            search,
            ended: VecDeque::new(),
            linking: None,
        }
    }

    /// Whether another insert can be started.
    pub fn has_room(&self) -> bool {
        self.driver.has_room()
    }

    /// Starts an insert.
    ///
    /// # Errors
    /// The search for its neighbours cannot be made.
    ///
    /// # Panics
    /// If there is no room.
    pub fn start(&mut self, insert: InsertJob<T, J>) -> Result<(), (J, UpdateError)> {
        let vector = insert.vector.clone();
        let query = Query { vector: &vector, k: 1, options: self.search, cancel: None };
        self.driver.start(insert, query).map_err(|(insert, cause)| {
            let key = insert.key;
            (insert.job, UpdateError::Search { key, cause })
        })
    }

    /// Does what can be done without waiting. Calls `finished` for every insert that has ended.
    pub fn turn(&mut self, finished: &mut dyn FnMut(J, Inserted)) -> Turn {
        self.step(finished, &mut || false)
    }

    /// Does what can be done without waiting, until `spent` objects: it is asked about once a microsecond while an insert
    /// is linked, and after every turn of the searches. What was begun is gone on with by the next call.
    pub fn step(&mut self, finished: &mut dyn FnMut(J, Inserted), spent: &mut dyn FnMut() -> bool) -> Turn {
        loop {
            if let Some(linking) = self.linking.take()
                && !self.link_on(linking, finished, spent)
            {
                return Turn::Busy;
            }
            match self.ended.pop_front() {
                Some((insert, Ok(harvest))) => self.begin_linking(insert, harvest),
                Some((insert, Err(cause))) => {
                    finished(insert.job, Err(UpdateError::Search { key: insert.key, cause }));
                }
                None => {
                    let Self { driver, ended, .. } = self;
                    let turn = driver.turn(&mut |insert, found| {
                        ended.push_back((insert, found.map(|found| found.nearest)));
                    });
                    if self.ended.is_empty() {
                        return turn;
                    }
                }
            }
            if spent() {
                return Turn::Busy;
            }
        }
    }

    /// Whether an insert has been begun and has not ended.
    pub fn has_begun(&self) -> bool {
        self.linking.is_some() || !self.ended.is_empty() || self.driver.running() > 0
    }

    fn begin_linking(&mut self, insert: InsertJob<T, J>, harvest: Harvest) {
        let replaced = if insert.replace { self.live.writer.lock().node_of(insert.key) } else { None };
        let (comparisons, began) = (self.linker.comparisons(), self.driver.now_ns());
        self.linker.start((&insert.vector, replaced), &harvest, self.live.codebook());
        Figures::add(&self.live.figures.prune_ns, self.driver.now_ns() - began);
        self.linking = Some(Linking { insert, harvest, comparisons });
    }

    /// Goes on with a linking; whether it has ended. If not, it is put back.
    fn link_on(
        &mut self,
        linking: Linking<T, J>,
        finished: &mut dyn FnMut(J, Inserted),
        spent: &mut dyn FnMut() -> bool,
    ) -> bool {
        let Self { live, inserts, linker, driver, .. } = self;
        let began = driver.now_ns();
        let step = linker.step::<T>(&linking.harvest, live.codebook(), spent);
        Figures::add(&live.figures.prune_ns, driver.now_ns() - began);
        if step == Step::More {
            self.linking = Some(linking);
            return false;
        }
        let Linking { insert: InsertJob { key, vector, replace, job }, harvest, comparisons } = linking;
        let outcome = inserts.commit(linker, &Linked { key, vector: &vector, replace, harvest: &harvest });
        Figures::add(&live.figures.comparisons, linker.comparisons() - comparisons);
        finished(job, outcome);
        true
    }

    /// Blocks until a read has come.
    pub fn wait(&mut self, timeout: Duration) {
        self.driver.wait(timeout);
    }

    /// Time spent in [`Runner::wait`], in nanoseconds.
    pub fn idle_ns(&self) -> u64 {
        self.driver.idle_ns()
    }
}

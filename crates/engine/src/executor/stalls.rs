//! What a core does while none of its searches can go on: it works on updates (LIOS), then sleeps.

use crate::executor::worker::WallClock;
use gleann_lios::{CoreLios, Lios, Progress, Work};
use gleann_search::{Driver, Searched, Turn};
use gleann_storage::{Clock, PageIo};
use gleann_update::Worker;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};

/// Searches under way up to which a core prefetches what they need after a slice: of more, the first would be driven from
/// the caches by the last.
const PREFETCHED: usize = 4;

/// The updates a core can work on. It is told what there is by looking.
pub(crate) trait SpareWork: Worker {
    /// Whether there may be something to do.
    fn is_there(&self) -> bool;
}

/// Makes the updates of one core, on its thread.
pub(crate) type Spare = dyn Fn() -> io::Result<Box<dyn SpareWork>> + Send + Sync;

/// How cores use their stalls.
#[derive(Clone)]
pub(crate) struct StallOptions {
    pub(crate) lios: Arc<Lios>,
    pub(crate) spare: Arc<Spare>,
    /// Whether what searches need next is prefetched after updates.
    pub(crate) prefetch: bool,
}

/// The stalls of one core.
pub(crate) struct Stalls {
    lios: CoreLios,
    updates: Updates,
    prefetch: bool,
}

/// A core's updates, as the scheduler sees them.
struct Updates(Box<dyn SpareWork>);

impl Work for Updates {
    fn is_there(&self) -> bool {
        self.0.is_there()
    }

    fn step(&mut self, spent: &mut dyn FnMut() -> bool) -> Progress {
        match self.0.step(spent) {
            Turn::Busy => Progress::More,
            Turn::Waiting => Progress::Waiting,
            Turn::Idle => Progress::Nothing,
        }
    }
}

impl Stalls {
    /// For the calling thread, which is that of a core.
    pub(crate) fn new(options: &StallOptions) -> io::Result<Self> {
        let updates = Updates((options.spare)()?);
        Ok(Self { lios: options.lios.core(), updates, prefetch: options.prefetch })
    }

    /// No search can go on: works on updates for as long as is allowed. Whether searches can go on now; if not, it is time to
    /// wait for their reads, and to tell by [`Stalls::waited`].
    pub(crate) fn use_stall<X: Searched, Io: PageIo, J>(
        &mut self,
        driver: &Driver<X, Io, WallClock, J>,
    ) -> bool {
        let wanted = driver.wanted();
        let ready = || driver.arrived() >= wanted;
        let report = self.lios.stall(wanted, || driver.now_ns(), ready, &mut self.updates);
        if report.slices > 0 {
            self.prefetch(driver);
        }
        report.arrived
    }

    /// The wait is over: for a read, or for nothing, and then the stall goes on.
    pub(crate) fn waited<X: Searched, Io: PageIo, J>(&mut self, driver: &Driver<X, Io, WallClock, J>) {
        if driver.arrived() >= driver.wanted() {
            self.lios.arrived(driver.now_ns());
            self.prefetch(driver);
        }
    }

    /// Searches have begun meanwhile, or ended: what comes next is another stall.
    pub(crate) fn interrupted(&mut self, now_ns: u64) {
        self.lios.interrupted(now_ns);
    }

    /// A search has ended after so long. Pays what updates are owed where nothing ever stalls.
    pub(crate) fn search_ended(&mut self, clock: &WallClock, latency_ns: u64) {
        self.lios.search_ended(clock.now_ns(), latency_ns);
        self.lios.pay_floor(|| clock.now_ns(), &mut self.updates);
    }

    /// There is no search at all: works on updates until `called`, or until there is nothing to do, which is
    /// [`Turn::Idle`]; [`Turn::Waiting`]: nothing before a read of theirs has come.
    pub(crate) fn use_idleness(&mut self, clock: &WallClock, called: impl FnMut() -> bool) -> Turn {
        let report = self.lios.work_while_idle(|| clock.now_ns(), called, &mut self.updates);
        // Whoever brings work looks at the load of this core afterwards (`Executors::waker`). One of both sees the other.
        fence(Ordering::SeqCst);
        match (report.slices > 0, self.updates.is_there()) {
            (true, _) => Turn::Busy,
            (false, true) => Turn::Waiting,
            (false, false) => Turn::Idle,
        }
    }

    /// Blocks until a read of an update has come.
    pub(crate) fn wait_for_updates(&mut self, timeout: std::time::Duration) {
        self.updates.0.wait(timeout);
    }

    fn prefetch<X: Searched, Io: PageIo, J>(&self, driver: &Driver<X, Io, WallClock, J>) {
        if self.prefetch && driver.running() <= PREFETCHED {
            driver.prefetch();
        }
    }
}

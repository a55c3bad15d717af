//! Work that searching cores take part in while their searches wait.
//!
//! A checkpoint or a merge posts its work here; a core that has time hires itself, and works in slices of its choosing. The
//! work borrows from the stack of whoever posted it: that call returns only when nothing is left of it anywhere.

use gleann_search::Turn;
use gleann_update::{Crew, Hire, Threads, Worker};
use parking_lot::{Condvar, Mutex};
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// Wakes cores that sleep because they have no search.
pub(crate) type Waker = Box<dyn Fn() + Send + Sync>;

/// The board.
#[derive(Default)]
pub(crate) struct Board {
    posted: Mutex<Posted>,
    changed: Condvar,
    /// Counts postings, so that a core need not take the lock to see that there is none it does not know.
    postings: AtomicU64,
    waker: OnceLock<Waker>,
}

#[derive(Default)]
struct Posted {
    /// What is to be done; none if nothing is posted.
    hire: Option<&'static Hire<'static>>,
    /// Cores that have a part in it.
    helpers: usize,
    /// Whether a core has found that nothing is left.
    exhausted: bool,
    /// Whether a core has died of its part.
    lost: bool,
}

/// The threads of the caller's pool, where they are to compute, and the cores.
pub(crate) struct CoresAndThreads {
    pub(crate) board: Arc<Board>,
    /// Whether the threads compute; if not, all is left to the cores.
    pub(crate) threads: bool,
}

/// Takes what was posted off the board, and waits until no core has a part in it.
struct Posting<'a>(&'a Board);

impl Drop for Posting<'_> {
    fn drop(&mut self) {
        let mut posted = self.0.posted.lock();
        posted.hire = None;
        while posted.helpers > 0 {
            self.0.changed.wait(&mut posted);
        }
    }
}

impl Crew for CoresAndThreads {
    fn run<'a>(&self, hire: &Hire<'a>) {
        // SAFETY: only the lifetimes change. `Posting` takes the reference off the board and waits until every part that was
        // made with it is gone, before this returns or unwinds.
        let hire_erased = unsafe { std::mem::transmute::<&Hire<'a>, &'static Hire<'static>>(hire) };
        let posting = self.board.post(hire_erased);
        if self.threads {
            Threads.run(hire);
        } else {
            self.board.wait_until_exhausted();
        }
        drop(posting);
        assert!(!self.board.posted.lock().lost, "a core has died of its part in a checkpoint");
    }
}

impl Board {
    fn post(&self, hire: &'static Hire<'static>) -> Posting<'_> {
        {
            let mut posted = self.posted.lock();
            assert!(posted.hire.is_none(), "one piece of work is posted at a time");
            *posted = Posted { hire: Some(hire), ..Posted::default() };
        }
        self.postings.fetch_add(1, Ordering::Release);
        self.wake();
        Posting(self)
    }

    fn wait_until_exhausted(&self) {
        let mut posted = self.posted.lock();
        while !posted.exhausted && !posted.lost {
            self.changed.wait(&mut posted);
        }
    }

    /// Sets what wakes cores.
    pub(crate) fn set_waker(&self, waker: Waker) {
        assert!(self.waker.set(waker).is_ok(), "cores are started once");
    }

    /// Wakes cores that sleep.
    pub(crate) fn wake(&self) {
        if let Some(wake) = self.waker.get() {
            wake();
        }
    }

    /// Whether something was posted since a core has `seen` so many postings.
    pub(crate) fn is_news(&self, seen: u64) -> bool {
        self.postings.load(Ordering::Acquire) != seen
    }

    /// A part in what is posted, if that is news to a core that has `seen` so many postings.
    pub(crate) fn join(self: &Arc<Self>, seen: &mut u64) -> Option<Part> {
        let postings = self.postings.load(Ordering::Acquire);
        if std::mem::replace(seen, postings) == postings {
            return None;
        }
        let hire = {
            let mut posted = self.posted.lock();
            let hire = posted.hire?;
            posted.helpers += 1;
            hire
        };
        // From here on the posting stays, even if hiring panics.
        let leave = Leave { board: self.clone(), exhausted: false };
        Some(Part { worker: ManuallyDrop::new(hire()), leave })
    }
}

/// A core's part in what was posted.
pub(crate) struct Part {
    /// Dropped before the board is told.
    worker: ManuallyDrop<Box<dyn Worker>>,
    leave: Leave,
}

/// Tells the board that a core has no part any more.
struct Leave {
    board: Arc<Board>,
    exhausted: bool,
}

impl Part {
    /// Goes on; [`Turn::Idle`]: nothing is left, and the part can be dropped.
    pub(crate) fn step(&mut self, spent: &mut dyn FnMut() -> bool) -> Turn {
        let turn = self.worker.step(spent);
        self.leave.exhausted |= turn == Turn::Idle;
        turn
    }

    /// Blocks until a read has come.
    pub(crate) fn wait(&mut self, timeout: std::time::Duration) {
        self.worker.wait(timeout);
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        // What was begun is not lost: the others count on it.
        while !self.leave.exhausted && !std::thread::panicking() {
            match self.step(&mut || false) {
                Turn::Waiting => self.wait(std::time::Duration::from_millis(1)),
                Turn::Busy | Turn::Idle => {}
            }
        }
        // SAFETY: it is dropped here, once.
        unsafe { ManuallyDrop::drop(&mut self.worker) };
    }
}

impl Drop for Leave {
    fn drop(&mut self) {
        let mut posted = self.board.posted.lock();
        posted.helpers -= 1;
        posted.exhausted |= self.exhausted;
        posted.lost |= std::thread::panicking();
        drop(posted);
        self.board.changed.notify_all();
    }
}

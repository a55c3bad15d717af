//! Who does work that can be shared out: threads, and whoever else has time.

use gleann_search::Turn;
use std::time::Duration;

/// The longest that a thread waits for a read before it looks again.
const MAX_WAIT: Duration = Duration::from_millis(1);

/// One member's part in a piece of work. It takes as much of it as it gets to, and ends when nothing is left.
pub trait Worker {
    /// Goes on until `spent` objects, which is asked about once a microsecond where much is computed. [`Turn::Idle`]: there
    /// is nothing left to do.
    fn step(&mut self, spent: &mut dyn FnMut() -> bool) -> Turn;

    /// Blocks until a read has come, or `timeout` has passed. Only useful after [`Turn::Waiting`].
    fn wait(&mut self, timeout: Duration);
}

/// Makes a member's part, on the thread that will do it.
pub type Hire<'a> = dyn Fn() -> Box<dyn Worker + 'a> + Sync + 'a;

/// Those who do work that can be shared out.
pub trait Crew: Send + Sync {
    /// Has a piece of work done: hires whoever there is, and returns once nothing is left and every part has ended and is
    /// gone. Called on the rayon pool of whoever wants the work done.
    fn run<'a>(&self, hire: &Hire<'a>);
}

/// The threads of the caller's rayon pool.
#[derive(Debug, Clone, Copy, Default)]
pub struct Threads;

impl Crew for Threads {
    fn run<'a>(&self, hire: &Hire<'a>) {
        rayon::scope(|scope| {
            for _ in 0..rayon::current_num_threads() {
                scope.spawn(|_| run_through(&mut *hire()));
            }
        });
    }
}

/// Does a part on a thread that has nothing else to do.
fn run_through(worker: &mut dyn Worker) {
    loop {
        match worker.step(&mut || false) {
            Turn::Busy => {}
            Turn::Waiting => worker.wait(MAX_WAIT),
            Turn::Idle => return,
        }
    }
}

//! What a piece of work must do to be run in pieces.

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The work is complete.
    Done,
    /// The budget is used up; call again.
    More,
}

/// Work that stops when its budget is used up and goes on where it stopped. The result is the same whatever the
/// budgets were.
pub trait Resumable {
    /// Goes on until the work is done or `spent` says that the budget is used up. `spent` may read a clock, so it is to
    /// be asked about once a microsecond, not after every comparison.
    fn step(&mut self, spent: &mut dyn FnMut() -> bool) -> Step;
}

/// Runs a piece of work to its end.
pub fn run_to_end(work: &mut impl Resumable) {
    while work.step(&mut || false) == Step::More {}
}

//! The change of one vector: turns that read, work that can be divided anywhere, a commit.

use crate::costs::UpdateCosts;
use crate::random::Random;

/// What is to be done next of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Piece {
    /// So many nanoseconds that cannot be divided.
    Whole(u64),
    /// So many that can be divided anywhere.
    Divisible(u64),
}

/// What came of a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Effect {
    /// There is more to compute.
    More,
    /// The same, but here it stops by itself.
    Part,
    /// So many reads have to come before there is more.
    Reads(u32),
    /// The task is done; so many reads and writes follow that nobody waits for.
    Done(u32),
}

/// A task under way.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    /// Its number in the phase.
    pub(crate) number: u64,
    /// When it can go on; `u64::MAX` where that is not known yet.
    pub(crate) ready_ns: u64,
    turns: u32,
    turn_ns: u64,
    reads: u32,
    divisible_ns: u64,
    /// Length of a part, and what is left of the one under way.
    part_ns: (u64, u64),
    commit_ns: u64,
    unawaited: u32,
}

impl Task {
    /// Task `number` of a phase; the same whoever works on it.
    pub(crate) fn new(costs: &UpdateCosts, number: u64, seed: u64) -> Self {
        let mut random = Random::new(seed, number);
        let cpu_ns = costs.cpu_us.draw_ns(&mut random);
        let (turn_ns, commit_ns) = ((1e3 * costs.turn_us) as u64, (1e3 * costs.commit_us) as u64);
        let part_ns = if costs.part_us > 0.0 { (1e3 * costs.part_us) as u64 } else { u64::MAX };
        let whole_ns = turn_ns * u64::from(costs.turns) + commit_ns;
        let ahead = if costs.turns == 0 { costs.reads } else { 0 };
        Self {
            number,
            ready_ns: 0,
            turns: costs.turns,
            turn_ns,
            reads: costs.reads - ahead,
            part_ns: (part_ns, part_ns),
            divisible_ns: cpu_ns.saturating_sub(whole_ns),
            commit_ns,
            unawaited: costs.writes + ahead,
        }
    }

    /// What is to be done next.
    pub(crate) fn piece(&self) -> Piece {
        if self.turns > 0 {
            Piece::Whole(self.turn_ns)
        } else if self.divisible_ns > 0 {
            Piece::Divisible(self.divisible_ns.min(self.part_ns.1))
        } else {
            Piece::Whole(self.commit_ns)
        }
    }

    /// `ns` nanoseconds of the piece are done: all of one that cannot be divided.
    pub(crate) fn advance(&mut self, ns: u64) -> Effect {
        if let Some(reads) = self.reads.checked_div(self.turns) {
            self.turns -= 1;
            self.reads -= reads;
            return if reads > 0 { Effect::Reads(reads) } else { Effect::More };
        }
        if self.divisible_ns > 0 {
            self.divisible_ns = self.divisible_ns.saturating_sub(ns);
            self.part_ns.1 = self.part_ns.1.saturating_sub(ns);
            let stops = self.part_ns.1 == 0;
            if stops {
                self.part_ns.1 = self.part_ns.0;
            }
            return match (self.divisible_ns + self.commit_ns, stops) {
                (0, _) => Effect::Done(self.unawaited),
                (_, true) => Effect::Part,
                (_, false) => Effect::More,
            };
        }
        Effect::Done(self.unawaited)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Distribution;

    fn costs(turns: u32, commit_us: f64) -> UpdateCosts {
        UpdateCosts {
            cpu_us: Distribution::Always(100.0),
            turns,
            turn_us: 20.0,
            part_us: 7.0,
            reads: 7,
            commit_us,
            writes: 2,
            serial_us: 0.0,
        }
    }

    /// Time, reads that were waited for, and operations at the end, divided into pieces of at most `most_ns`.
    fn run(costs: &UpdateCosts, most_ns: u64) -> (u64, u32, u32) {
        let mut task = Task::new(costs, 0, 1);
        let (mut ns, mut reads) = (0, 0);
        loop {
            let piece = match task.piece() {
                Piece::Whole(piece) => piece,
                Piece::Divisible(left) => left.min(most_ns),
            };
            ns += piece;
            match task.advance(piece) {
                Effect::More | Effect::Part => {}
                Effect::Reads(count) => reads += count,
                Effect::Done(operations) => return (ns, reads, operations),
            }
        }
    }

    #[test]
    fn a_task_is_the_same_in_pieces() {
        for most_ns in [1000, 777, u64::MAX] {
            assert_eq!(run(&costs(2, 40.0), most_ns), (100_000, 7, 2));
            assert_eq!(run(&costs(0, 40.0), most_ns), (100_000, 0, 9));
            assert_eq!(run(&costs(0, 0.0), most_ns), (100_000, 0, 9));
            assert_eq!(run(&costs(5, 0.0), most_ns), (100_000, 7, 2));
        }
    }
}

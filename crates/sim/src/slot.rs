//! One search of a searching core: what it waits for, and what it reads next.

use crate::costs::SearchCosts;
use crate::random::Random;
use crate::setup::Traversal;

/// What a step came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// So many reads are to be made.
    Reads(u32),
    /// The search has ended.
    Done,
}

/// A search under way.
#[derive(Debug)]
pub(crate) struct Slot {
    random: Random,
    traversal: Traversal,
    width: u32,
    /// Reads of the rounds to come, the last first; of PipeSearch, all reads to come.
    to_read: Vec<u32>,
    outstanding: u32,
    begun: bool,
    pub(crate) started_ns: u64,
    /// Whether it can make a step.
    pub(crate) can_step: bool,
}

impl Slot {
    /// A search that starts at `now_ns`, with costs from its own stream of random numbers.
    pub(crate) fn start(costs: &SearchCosts, traversal: Traversal, mut random: Random, now_ns: u64) -> Self {
        let hops = costs.hops.draw(&mut random).round().max(1.0) as usize;
        let reads = |random: &mut Random| costs.reads_per_hop.draw(random).round() as u32;
        let mut to_read: Vec<u32> = (0..hops).map(|_| reads(&mut random).clamp(1, costs.width)).collect();
        if traversal == Traversal::Pipe {
            to_read = vec![to_read.iter().sum()];
        }
        Self {
            random,
            traversal,
            width: costs.width,
            to_read,
            outstanding: 0,
            begun: false,
            started_ns: now_ns,
            can_step: true,
        }
    }

    /// A read has come. Its processor time in nanoseconds.
    pub(crate) fn arrive(&mut self, costs: &SearchCosts) -> u64 {
        self.outstanding -= 1;
        self.can_step |= self.traversal == Traversal::Pipe || self.outstanding == 0;
        costs.arrival_us.draw_ns(&mut self.random)
    }

    /// A step: its processor time in nanoseconds, and what comes of it.
    pub(crate) fn step(&mut self, costs: &SearchCosts) -> (u64, Next) {
        self.can_step = false;
        let begins = !std::mem::replace(&mut self.begun, true);
        let cost = if begins { &costs.start_us } else { &costs.hop_us };
        let cpu_ns = cost.draw_ns(&mut self.random);
        let reads = match self.traversal {
            Traversal::Beam => self.to_read.pop().unwrap_or(0),
            Traversal::Pipe => self.pipe_reads(),
        };
        self.outstanding += reads;
        let over = reads == 0 && self.outstanding == 0;
        (cpu_ns, if over { Next::Done } else { Next::Reads(reads) })
    }

    /// Reads that must come before it can go on.
    pub(crate) fn missing(&self) -> usize {
        match self.traversal {
            Traversal::Beam => self.outstanding as usize,
            Traversal::Pipe => 1,
        }
    }

    fn pipe_reads(&mut self) -> u32 {
        let left = &mut self.to_read[0];
        let reads = (*left).min(self.width.saturating_sub(self.outstanding));
        *left -= reads;
        reads
    }
}

//! Candidates by score, the highest first and among equals the one that got there first.

/// Scores are held below this: a node with more edges into a group than that is as welcome as any.
const HIGHEST: u16 = 4095;
/// The score of what is taken.
const TAKEN: u16 = u16::MAX;

/// The nodes of a graph with their scores. A score only grows until it is taken or forgotten, so an entry that was
/// made at another score than its node has now is stale, and skipped.
#[derive(Debug)]
pub(super) struct ScoreQueue {
    scores: Vec<u16>,
    /// Element s: the nodes that came to have score s, in that order, and how many of them were looked at.
    reached: Vec<(Vec<u32>, usize)>,
    /// No entry of a higher score is left.
    highest: usize,
}

impl ScoreQueue {
    /// `nodes` nodes of score 0.
    pub(super) fn new(nodes: usize) -> Self {
        Self { scores: vec![0; nodes], reached: vec![(Vec::new(), 0)], highest: 0 }
    }

    /// Whether the node has been taken.
    pub(super) fn is_taken(&self, node: u32) -> bool {
        self.scores[node as usize] == TAKEN
    }

    /// Takes a node out for good.
    pub(super) fn take(&mut self, node: u32) {
        debug_assert!(!self.is_taken(node), "node {node} is taken twice");
        self.scores[node as usize] = TAKEN;
    }

    /// Raises the score of a node that is not taken.
    #[inline]
    pub(super) fn raise(&mut self, node: u32) {
        let score = &mut self.scores[node as usize];
        if *score >= HIGHEST {
            return;
        }
        *score += 1;
        let score = usize::from(*score);
        if score == self.reached.len() {
            self.reached.push((Vec::new(), 0));
        }
        self.reached[score].0.push(node);
        self.highest = self.highest.max(score);
    }

    /// The node of the highest score above 0 that is not taken; it is not given again at this score.
    pub(super) fn pop(&mut self) -> Option<u32> {
        while self.highest > 0 {
            let (nodes, looked_at) = &mut self.reached[self.highest];
            while let Some(&node) = nodes.get(*looked_at) {
                *looked_at += 1;
                if usize::from(self.scores[node as usize]) == self.highest {
                    return Some(node);
                }
            }
            self.highest -= 1;
        }
        None
    }

    /// Sets the scores of all that are not taken back to 0.
    pub(super) fn forget(&mut self) {
        // Whoever has a score came through 1.
        if let Some((nodes, _)) = self.reached.get(1) {
            for &node in nodes {
                let score = &mut self.scores[node as usize];
                *score = if *score == TAKEN { TAKEN } else { 0 };
            }
        }
        for (nodes, looked_at) in &mut self.reached {
            nodes.clear();
            *looked_at = 0;
        }
        self.highest = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_comes_first_and_the_first_among_equals() {
        let mut queue = ScoreQueue::new(5);
        [3, 1, 4, 1, 4, 0].iter().for_each(|&node| queue.raise(node));
        queue.take(4);
        assert_eq!(queue.pop(), Some(1));
        queue.take(1);
        assert_eq!((queue.pop(), queue.pop(), queue.pop()), (Some(3), Some(0), None));
        queue.forget();
        queue.raise(0);
        assert_eq!((queue.pop(), queue.pop()), (Some(0), None));
        assert!(queue.is_taken(1) && queue.is_taken(4) && !queue.is_taken(0));
        for _ in 0..10_000 {
            queue.raise(2);
        }
        assert_eq!(queue.pop(), Some(2));
    }
}

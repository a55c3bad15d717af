//! How a shuffle stays within its memory.

/// Ids of each list that parts may be found by, the most first.
const CUTS: [usize; 4] = [16, 8, 4, 2];
/// Blocks of lists, the queue of a page, and whatever else does not grow with the nodes.
const FIXED: u64 = 4 << 20;
/// Parts are not made smaller than this: what they gain in memory is lost in overlap.
const SMALLEST_PART: u64 = 4096;

/// What a shuffle of so many nodes holds in memory at a time. Depends on nothing but its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShufflePlan {
    /// Number of nodes.
    pub nodes: u64,
    /// Nodes a page.
    pub page: usize,
    /// Parts that are shuffled one after the other, each with its edges in memory; 1: all nodes at once.
    pub parts: u64,
    /// Most nodes of a part, whole pages.
    pub capacity: u64,
    /// Ids of each list by which parts are found; 0 with one part.
    pub cut: usize,
    /// Peak bytes, the order that is returned included.
    pub bytes: u64,
}

impl ShufflePlan {
    /// Plans the shuffle of `nodes` nodes with at most `degree` neighbours into pages of `page` nodes in `budget`
    /// bytes.
    ///
    /// # Errors
    /// The budget is too small; the smallest that works, in bytes.
    ///
    /// # Panics
    /// If a page holds no node.
    pub fn new(nodes: u64, degree: usize, page: usize, budget: u64) -> Result<Self, u64> {
        assert!(page > 0, "a page holds a node at least");
        let sizes = Sizes { nodes, degree, unit: page as u64 };
        let at_once = if page == 1 { sizes.comparing() } else { sizes.comparing().max(sizes.growing()) };
        if at_once <= budget {
            return Ok(Self { nodes, page, parts: 1, capacity: nodes, cut: 0, bytes: at_once });
        }
        if page == 1 {
            return Err(at_once);
        }
        // As measured, parts of twice the size are worth about as much as being found by twice as many ids.
        let parts = CUTS.iter().filter_map(|&cut| Some((cut, sizes.largest_part(cut, budget)?)));
        match parts.max_by_key(|&(cut, most)| most.min(nodes / 2) * cut as u64) {
            Some((cut, most)) => {
                let parts = nodes.div_ceil(most).max(2);
                let capacity = nodes.div_ceil(parts).next_multiple_of(sizes.unit);
                let parts = nodes.div_ceil(capacity);
                Ok(Self { nodes, page, parts, capacity, cut, bytes: sizes.in_parts(cut, capacity) })
            }
            None => {
                let fewest = CUTS[CUTS.len() - 1];
                Err(at_once.min(sizes.in_parts(fewest, sizes.smallest_part())))
            }
        }
    }
}

struct Sizes {
    nodes: u64,
    degree: usize,
    /// Nodes a page.
    unit: u64,
}

impl Sizes {
    fn smallest_part(&self) -> u64 {
        (SMALLEST_PART / self.unit * self.unit).max(self.unit)
    }

    /// Comparing two orders, by one of them turned round.
    fn comparing(&self) -> u64 {
        12 * self.nodes + self.nodes / 8 + FIXED
    }

    /// Everything at once.
    fn growing(&self) -> u64 {
        self.nodes * grown_node(self.degree) + FIXED
    }

    /// Finding parts of `capacity` nodes, the queue of one part included, which may have doubled.
    fn finding(&self, cut: usize, capacity: u64) -> u64 {
        self.nodes * grown_node(cut) + capacity * queued_node(cut) + FIXED
    }

    /// Growing one part, beside the order and the number of every node.
    fn one_part(&self, capacity: u64) -> u64 {
        8 * self.nodes + capacity * grown_node(self.degree) + FIXED
    }

    fn in_parts(&self, cut: usize, capacity: u64) -> u64 {
        self.comparing().max(self.finding(cut, capacity)).max(self.one_part(capacity))
    }

    /// The most nodes a part may have, whole pages; `None` where that is less than it should have.
    fn largest_part(&self, cut: usize, budget: u64) -> Option<u64> {
        let left = |fixed: u64, each: u64| Some(budget.checked_sub(fixed)? / each);
        let grown = left(self.one_part(0), grown_node(self.degree))?;
        let found = left(self.finding(cut, 0), queued_node(cut))?;
        let most = grown.min(found) / self.unit * self.unit;
        (most >= self.smallest_part() && self.comparing() <= budget).then_some(most)
    }
}

/// Bytes to divide a node with `degree` edges: both ends of its edges, its start, count, score and place.
fn grown_node(degree: usize) -> u64 {
    8 * degree as u64 + 8 + 4 + 2 + 4
}

/// Bytes in the queue for a node of a part: both ends of its edges, in vectors that may have doubled.
fn queued_node(cut: usize) -> u64 {
    16 * cut as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_hundred_million_nodes_fit_a_small_machine() {
        let plan = ShufflePlan::new(100_000_000, 64, 10, 8 << 30).unwrap();
        assert!(plan.parts > 1 && plan.parts < 20 && plan.cut > 2, "{plan:?}");
        let plan = ShufflePlan::new(100_000_000, 64, 10, 64 << 30).unwrap();
        assert_eq!((plan.parts, plan.capacity), (1, 100_000_000));
        let minimum = ShufflePlan::new(100_000_000, 64, 10, 1 << 30).unwrap_err();
        assert!((3 << 30..4 << 30).contains(&minimum), "{minimum}");
    }

    proptest! {
        #[test]
        fn every_plan_keeps_its_budget(
            nodes in 0u64..3_000_000,
            degree in 1usize..200,
            page in 1usize..100,
            budget in 0u64..3_000_000_000,
        ) {
            match ShufflePlan::new(nodes, degree, page, budget) {
                Ok(plan) => {
                    prop_assert!(plan.bytes <= budget, "{plan:?}");
                    prop_assert!(plan.parts * plan.capacity >= nodes, "{plan:?}");
                    if plan.parts > 1 {
                        prop_assert!(plan.cut > 0 && plan.capacity.is_multiple_of(page as u64), "{plan:?}");
                    } else {
                        prop_assert_eq!(plan.capacity, nodes);
                    }
                }
                Err(minimum) => {
                    prop_assert!(minimum > budget);
                    prop_assert!(ShufflePlan::new(nodes, degree, page, minimum).is_ok());
                }
            }
        }
    }
}

//! Which nodes a search can reach from the entry point, by sequential scans with a bitmap, and the repair of
//! those it cannot.
//!
//! A repair never takes a way from what is reachable: it uses a free place of a reachable node v, or *splices*
//! the new node u into an edge v → w, making it v → u → w. So every repair adds at least one reachable node and
//! takes none away, which is why it ends, whatever the graph and even with R = 1.

use crate::{AdjacencyRows, ListBlock};
use bitvec::vec::BitVec;
use std::collections::HashSet;

/// Nodes read at once by a scan.
const BLOCK: u32 = 4096;
/// Lists that are looked at to find a free place near a host.
const NEARBY: usize = 256;

/// The nodes that can be reached from an entry point.
#[derive(Debug, Clone)]
pub struct Reached {
    bits: BitVec,
    count: u64,
}

impl Reached {
    /// Whether node `id` can be reached; false where there is no such node.
    pub fn contains(&self, id: u32) -> bool {
        self.bits.get(id as usize).is_some_and(|bit| *bit)
    }

    /// How many nodes can be reached, the entry included.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The nodes that cannot, ascending.
    pub fn unreached(&self) -> impl Iterator<Item = u32> + '_ {
        self.bits.iter_zeros().map(|id| id as u32)
    }

    /// Marks a node; whether it is new.
    fn insert(&mut self, id: u32) -> bool {
        let new = !self.bits.replace(id as usize, true);
        self.count += u64::from(new);
        new
    }
}

/// Finds what `entry` reaches. Blocks of lists are read in id order until a scan finds nothing new; a block with
/// nothing to expand is not read. Ids outside the graph are ignored. Memory: two bits a node.
///
/// # Errors
/// What the rows fail with.
pub fn reachable<A: AdjacencyRows>(rows: &A, entry: Option<u32>) -> Result<Reached, A::Error> {
    let nodes = rows.nodes();
    let mut reached = Reached { bits: BitVec::repeat(false, nodes as usize), count: 0 };
    let mut waiting: BitVec = BitVec::repeat(false, nodes as usize);
    let Some(entry) = entry.filter(|&entry| entry < nodes) else { return Ok(reached) };
    reached.insert(entry);
    waiting.set(entry as usize, true);
    let mut block = ListBlock::default();
    while waiting.any() {
        for start in (0..nodes).step_by(BLOCK as usize) {
            let count = BLOCK.min(nodes - start);
            let range = start as usize..(start + count) as usize;
            if waiting[range.clone()].not_any() {
                continue;
            }
            rows.read(start, count, &mut block)?;
            while let Some(offset) = waiting[range.clone()].first_one() {
                waiting.set(range.start + offset, false);
                for &id in block.list(offset) {
                    if id < nodes && reached.insert(id) {
                        waiting.set(id as usize, true);
                    }
                }
            }
        }
    }
    Ok(reached)
}

/// Makes every node reachable from `entry` and returns the number of nodes that were given an edge.
///
/// A node u is attached, in this order of preference: in a free place of one of its own reachable neighbours; by
/// splicing it into the last edge of one that no repair has made; in a free place of a node near one; into an
/// edge that a repair has made. Where u has no reachable neighbour, `propose` is asked for others (a search for
/// u's vector gives near ones; leaving the list empty is allowed), and the entry is the last resort. What u
/// itself reaches is followed before the next node is looked at. Deterministic; reads lists one by one only
/// around the nodes it attaches.
///
/// # Errors
/// What the rows fail with.
pub fn repair<A: AdjacencyRows>(
    rows: &mut A,
    entry: Option<u32>,
    mut propose: impl FnMut(&A, u32, &mut Vec<u32>),
) -> Result<u64, A::Error> {
    let nodes = rows.nodes();
    let Some(entry) = entry.filter(|&entry| entry < nodes) else { return Ok(0) };
    let reached = reachable(rows, Some(entry))?;
    let mut repair = Repair { rows, entry, reached, made: HashSet::new() };
    let mut repaired = 0;
    while repair.reached.count() < u64::from(nodes) {
        // Attaching a node may cost an unreached one its only way in, so one sweep need not be enough.
        let mut next = 0;
        while let Some(offset) = repair.reached.bits[next..].first_zero() {
            let node = (next + offset) as u32;
            repair.attach(node, &mut propose)?;
            repair.follow(node)?;
            repaired += 1;
            next += offset + 1;
        }
    }
    debug_assert!(reachable(repair.rows, Some(entry)).is_ok_and(|all| all.count() == u64::from(nodes)));
    Ok(repaired)
}

struct Repair<'a, A: AdjacencyRows> {
    rows: &'a mut A,
    entry: u32,
    reached: Reached,
    /// Edges made by repairs: others are sacrificed first.
    made: HashSet<(u32, u32)>,
}

impl<A: AdjacencyRows> Repair<'_, A> {
    fn list(&self, id: u32) -> Result<Vec<u32>, A::Error> {
        let mut block = ListBlock::default();
        self.rows.read(id, 1, &mut block)?;
        Ok(block.list(0).to_vec())
    }

    /// Gives `node` an edge from a reachable node.
    fn attach(
        &mut self,
        node: u32,
        propose: &mut impl FnMut(&A, u32, &mut Vec<u32>),
    ) -> Result<(), A::Error> {
        let mut hosts = self.list(node)?;
        hosts.retain(|&id| self.reached.contains(id));
        if hosts.is_empty() {
            propose(self.rows, node, &mut hosts);
            hosts.retain(|&id| self.reached.contains(id));
        }
        if hosts.is_empty() {
            hosts.push(self.entry);
        }
        if let Some(host) = self.with_free_place(&hosts)? {
            return self.append(host, node);
        }
        for &host in &hosts {
            let list = self.list(host)?;
            let own = |&place: &usize| !self.made.contains(&(host, list[place]));
            if let Some(place) = (0..list.len()).rev().find(own) {
                return self.splice(host, list, place, node);
            }
        }
        if let Some(host) = self.free_place_nearby(&hosts)? {
            return self.append(host, node);
        }
        let list = self.list(hosts[0])?;
        let last = list.len() - 1;
        self.splice(hosts[0], list, last, node)
    }

    fn with_free_place(&self, hosts: &[u32]) -> Result<Option<u32>, A::Error> {
        for &host in hosts {
            if self.list(host)?.len() < self.rows.degree_bound() {
                return Ok(Some(host));
            }
        }
        Ok(None)
    }

    /// The first node with a free place among what the hosts reach in few hops.
    fn free_place_nearby(&self, hosts: &[u32]) -> Result<Option<u32>, A::Error> {
        let mut queue = hosts.to_vec();
        let mut at = 0;
        while at < queue.len().min(NEARBY) {
            let list = self.list(queue[at])?;
            if list.len() < self.rows.degree_bound() {
                return Ok(Some(queue[at]));
            }
            for id in list {
                if queue.len() < NEARBY && !queue.contains(&id) {
                    queue.push(id);
                }
            }
            at += 1;
        }
        Ok(None)
    }

    fn append(&mut self, host: u32, node: u32) -> Result<(), A::Error> {
        let mut list = self.list(host)?;
        list.push(node);
        self.made.insert((host, node));
        self.rows.replace(host, &list)
    }

    /// Turns the edge at `place` of the list of `host` into one to `node`, and gives `node` an edge to where it
    /// led.
    fn splice(&mut self, host: u32, mut list: Vec<u32>, place: usize, node: u32) -> Result<(), A::Error> {
        let led_to = std::mem::replace(&mut list[place], node);
        self.made.remove(&(host, led_to));
        self.made.insert((host, node));
        let mut own = self.list(node)?;
        if !own.contains(&led_to) {
            own.truncate(self.rows.degree_bound() - 1);
            own.push(led_to);
        }
        self.made.insert((node, led_to));
        // The new way first: whatever is interrupted, nothing reachable is lost.
        self.rows.replace(node, &own)?;
        self.rows.replace(host, &list)
    }

    /// Marks everything that `node` makes reachable.
    fn follow(&mut self, node: u32) -> Result<(), A::Error> {
        let mut stack = vec![node];
        self.reached.insert(node);
        while let Some(id) = stack.pop() {
            for next in self.list(id)? {
                if next < self.rows.nodes() && self.reached.insert(next) {
                    stack.push(next);
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Graph;
    use proptest::prelude::*;

    fn silent(_: &Graph, _: u32, _: &mut Vec<u32>) {}

    fn check(lists: &[Vec<u32>], degree: usize) -> u64 {
        let mut graph = Graph::from_lists(lists, degree, Some(0));
        let before = reachable(&graph, Some(0)).unwrap();
        let repaired = repair(&mut graph, Some(0), silent).unwrap();
        let after = reachable(&graph, Some(0)).unwrap();
        assert_eq!(after.count(), lists.len() as u64);
        assert!(repaired <= lists.len() as u64 - before.count());
        assert_eq!(repaired == 0, before.count() == lists.len() as u64);
        for id in 0..lists.len() as u32 {
            let mut list = graph.neighbours(id).to_vec();
            assert!(list.len() <= degree && !list.contains(&id), "{id}: {list:?}");
            list.sort_unstable();
            list.dedup();
            assert_eq!(list.len(), graph.neighbours(id).len(), "{id} has an edge twice");
        }
        repaired
    }

    #[test]
    fn chains_against_the_order_and_across_blocks_are_followed() {
        let n = 3 * BLOCK;
        // 0 → n − 1 → n − 2 → … → 1
        let lists: Vec<Vec<u32>> = (0..n).map(|id| vec![if id == 0 { n - 1 } else { id - 1 }]).collect();
        let graph = Graph::from_lists(&lists, 1, Some(0));
        assert_eq!(reachable(&graph, Some(0)).unwrap().count(), u64::from(n));
        assert_eq!(reachable(&graph, None).unwrap().count(), 0);
        let empty = Graph::from_lists::<Vec<u32>>(&[], 3, None);
        assert_eq!(reachable(&empty, None).unwrap().count(), 0);
    }

    #[test]
    fn unreached_nodes_are_named() {
        let graph = Graph::from_lists(&[vec![2], vec![0], vec![], vec![1]], 1, Some(0));
        let reached = reachable(&graph, Some(0)).unwrap();
        assert_eq!(reached.unreached().collect::<Vec<_>>(), [1, 3]);
        assert!(reached.contains(2) && !reached.contains(3) && !reached.contains(4));
    }

    #[test]
    fn clusters_without_a_bridge_are_joined_by_one_edge_each() {
        let ring = |cluster: u32, id: u32| vec![cluster * 10 + (id + 1) % 10, cluster * 10 + (id + 2) % 10];
        let lists: Vec<Vec<u32>> = (0..50).map(|i| ring(i / 10, i % 10)).collect();
        assert_eq!(check(&lists, 3), 4);
        assert_eq!(check(&lists, 2), 4, "without a free place, edges are spliced");
    }

    #[test]
    fn a_proposed_host_is_used_where_there_is_no_neighbour() {
        let mut graph = Graph::from_lists(&[vec![1], vec![2], vec![], vec![]], 2, Some(0));
        let repaired = repair(&mut graph, Some(0), |_, node, hosts| hosts.extend([node, 2])).unwrap();
        assert_eq!((repaired, graph.neighbours(2)), (1, &[3][..]));
    }

    #[test]
    fn a_crowd_around_one_node_becomes_a_shallow_tree() {
        let lists: Vec<Vec<u32>> = (0..1000).map(|id| vec![u32::from(id == 0)]).collect();
        let mut graph = Graph::from_lists(&lists, 8, Some(0));
        repair(&mut graph, Some(0), silent).unwrap();
        let mut depth = vec![u32::MAX; 1000];
        depth[0] = 0;
        let mut queue = std::collections::VecDeque::from([0u32]);
        while let Some(id) = queue.pop_front() {
            for &next in graph.neighbours(id) {
                if depth[next as usize] == u32::MAX {
                    depth[next as usize] = depth[id as usize] + 1;
                    queue.push_back(next);
                }
            }
        }
        assert!(depth.iter().all(|&d| d <= 5), "deepest {:?}", depth.iter().max());
    }

    proptest! {
        #[test]
        fn any_graph_can_be_repaired(
            degree in 1usize..5,
            edges in proptest::collection::vec(proptest::collection::vec(0u32..60, 0..5), 1..60),
        ) {
            let n = edges.len() as u32;
            let lists: Vec<Vec<u32>> = edges.iter().enumerate().map(|(id, list)| {
                let mut list: Vec<u32> = list.iter().map(|&x| x % n).filter(|&x| x != id as u32).collect();
                list.sort_unstable();
                list.dedup();
                list.truncate(degree);
                list
            }).collect();
            check(&lists, degree);
        }
    }
}

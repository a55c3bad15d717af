//! The graph of a live index as searches see it.

use gleann_search::{NodeState, room};
use gleann_storage::{BlockId, Record, Volume, record_bytes};
use gleann_update::Live;
use gleann_vector::NodeId;
use std::sync::Arc;

/// What a walk along all lists finds.
#[derive(Debug, Default)]
pub struct Walk {
    /// Live nodes of the graph.
    pub live: usize,
    /// Live nodes that no way leads to.
    pub unreachable: Vec<u32>,
    /// (node, neighbour) where the neighbour is a free place.
    pub dangling: Vec<(u32, u32)>,
    /// Places there are on disk and in memory.
    pub places: usize,
}

pub fn walk(live: &Arc<Live<f32>>, volume: &Arc<dyn Volume>) -> Walk {
    let index = live.index();
    let view = index.changes.as_ref().expect("a live index").latest().view.clone();
    let layout = &index.layout;
    let file = volume.open("graph.gln").unwrap().unwrap();
    let nodes = &view.nodes;
    let list = |id: u32| -> Vec<u32> {
        let mut record = vec![0; layout.record_bytes()];
        if !view.with_new_record(id, |bytes| record.copy_from_slice(bytes)) {
            let mut block = vec![0; layout.block_bytes()];
            let place = view.place(layout.block_of(NodeId(id))).expect("a node is in memory or on disk");
            file.read_at(&mut block, layout.block_layout().offset(BlockId(place.0))).unwrap();
            record.copy_from_slice(record_bytes(layout, &block, layout.slot_of(NodeId(id))));
        }
        let mut list: Vec<u32> =
            Record::decode(layout, &record, nodes.places() as u32).unwrap().neighbours().collect();
        let mut length = list.len();
        list.resize(room(layout.degree()), 0);
        view.patch(id, &mut list, &mut length);
        list.truncate(length);
        list
    };
    let mut walk = Walk::default();
    let mut seen = vec![false; nodes.places()];
    let mut open: Vec<u32> = view.entry.into_iter().collect();
    open.iter().for_each(|&id| seen[id as usize] = true);
    while let Some(id) = open.pop() {
        for neighbour in list(id) {
            if nodes.state(neighbour) == NodeState::Free {
                walk.dangling.push((id, neighbour));
            } else if !std::mem::replace(&mut seen[neighbour as usize], true) {
                open.push(neighbour);
            }
        }
    }
    let states = |wanted| (0..nodes.places() as u32).filter(move |&id| nodes.state(id) == wanted);
    walk.live = states(NodeState::Live).count();
    walk.unreachable = states(NodeState::Live).filter(|&id| !seen[id as usize]).collect();
    let taken = (0..nodes.places() as u32).filter(|&id| nodes.state(id) != NodeState::Free);
    walk.places = taken.max().map_or(0, |last| last as usize + 1);
    walk
}

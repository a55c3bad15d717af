//! Makes a live index of a static one, in its directory.

use crate::areas::write_areas;
use crate::backend::Backend;
use crate::error::UpdateError;
use crate::pages::{Pages, PagesPlace, TABLE_NAME};
use crate::root::{Portion, Root};
use crate::wal::{Durability, Lsn, Wal, WalOptions};
use gleann_quant::Codes;
use gleann_search::{NodeState, NodeTable};
use gleann_storage::{
    Area, BuildId, Layout, LogicalBlock, Volume, record_bytes, vacate_record, verify_block,
};
use gleann_vector::{Element, Key, Metric, NodeId};
use std::sync::Arc;

/// Length of the first segment of a log: it is there to be there, and an index that is never changed needs no more.
const FIRST_SEGMENT_BYTES: u64 = 8 << 10;

/// The static index to be made live.
pub struct Adopted<'a> {
    /// Its directory.
    pub volume: Arc<dyn Volume>,
    /// What ties its files together.
    pub index: BuildId,
    /// Record geometry.
    pub layout: Layout,
    /// How near two vectors are.
    pub metric: Metric,
    /// Number of nodes.
    pub nodes: u32,
    /// Where searches begin.
    pub entry: Option<u32>,
    /// The codes, in the order of the ids.
    pub codes: &'a Codes,
    /// The user's keys, in the order of the ids; none where they are the ids.
    pub keys: Option<&'a [Key]>,
}

/// Makes a live index of a static one. The index is live once this has returned; until then it is the static index it
/// was, and this can be done again.
///
/// # Errors
/// The system refused, or a block is damaged.
pub fn adopt<T: Element>(adopted: &Adopted<'_>, backend: Backend) -> Result<(), UpdateError> {
    let Adopted { volume, index, layout, .. } = adopted;
    let place = PagesPlace { volume: volume.clone(), index: *index, layout: layout.block_layout() };
    remove_unfinished(&place)?;
    let blocks = layout.blocks(adopted.nodes.into()) as u32;
    // A table without a root is not an index yet.
    let pages = Pages::adopt(place, blocks, &[])?;
    let table = pages.table();
    let places = blocks * layout.records_per_block() as u32;
    let (nodes, states) = node_table(adopted, places);
    let mut block = vec![0; layout.block_bytes()];
    let mut commit = pages.begin()?;
    if let Some(last) = blocks.checked_sub(1) {
        let last = LogicalBlock { area: Area::Records, index: last };
        pages.read(&table, last, &mut block)?;
        for id in adopted.nodes..places {
            let start = layout.slot_of(NodeId(id)) * layout.record_bytes();
            vacate_record(layout, &mut block[start..start + layout.record_bytes()]);
        }
        commit.write(last, &mut block)?;
    }
    write_areas(&mut commit, (&nodes, &states), (&[], places), &mut block)?;
    let max_norm =
        if adopted.metric == Metric::InnerProduct { largest_norm::<T>(adopted, &pages)? } else { 0.0 };
    // Before the index is one: its log is never absent afterwards.
    let log = WalOptions {
        id: index.0,
        first_segment: 1,
        begins: true,
        segment_bytes: FIRST_SEGMENT_BYTES,
        durability: Durability::None,
    };
    drop(Wal::open::<UpdateError>(volume.clone(), log, &mut |_, _| Ok(()))?);
    let root = Root {
        backend,
        entry: adopted.entry,
        first_segment: 1,
        max_norm,
        graph: Lsn(0),
        written: Portion::default(),
        states,
    };
    commit.finish(&root.to_bytes())?;
    Ok(())
}

/// What an adoption that was cut short has left.
fn remove_unfinished(place: &PagesPlace) -> Result<(), UpdateError> {
    let exists = place.volume.open(TABLE_NAME).is_ok_and(|file| file.is_some());
    if exists
        && let Ok((_, root)) = Pages::open(place.clone())
        && root.is_empty()
    {
        let failed = |error: std::io::Error| UpdateError::Damaged {
            path: place.volume.path(TABLE_NAME),
            found: format!("left by an interrupted change to a live index, and cannot be removed: {error}"),
        };
        place.volume.remove(TABLE_NAME).map_err(failed)?;
        place.volume.sync_dir().map_err(failed)?;
    }
    Ok(())
}

fn node_table(adopted: &Adopted<'_>, places: u32) -> (NodeTable, Vec<NodeState>) {
    let nodes = NodeTable::new(adopted.codes.with_room(places as usize));
    let state = |id: u32| if id < adopted.nodes { NodeState::Live } else { NodeState::Free };
    let states: Vec<NodeState> = (0..places).map(state).collect();
    for (id, &state) in (0..).zip(&states) {
        let key = adopted.keys.and_then(|keys| keys.get(id as usize).copied());
        nodes.restore(id, key.unwrap_or(u64::from(id)), state);
    }
    (nodes, states)
}

fn largest_norm<T: Element>(adopted: &Adopted<'_>, pages: &Pages) -> Result<f32, UpdateError> {
    let layout = &adopted.layout;
    let table = pages.table();
    let mut block = vec![0; layout.block_bytes()];
    let mut largest = 0.0f64;
    for index in 0..table.records().len() as u32 {
        pages.read(&table, LogicalBlock { area: Area::Records, index }, &mut block)?;
        debug_assert!(verify_block(&block, gleann_storage::BlockId(index)).is_ok());
        for id in layout.nodes_of(gleann_storage::BlockId(index), adopted.nodes) {
            let record = record_bytes(layout, &block, layout.slot_of(NodeId(id)));
            let vector: Vec<T> = bytemuck::pod_collect_to_vec(&record[..layout.dim() * size_of::<T>()]);
            largest = largest.max(vector.iter().map(|x| f64::from(x.to_f32()).powi(2)).sum());
        }
    }
    Ok(largest.sqrt() as f32)
}

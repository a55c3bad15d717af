//! Codes and keys of all places, as blocks of their areas: fixed shares of a block, in the order of the ids.

use crate::pages::{Commit, Pages, PagesError};
use gleann_search::{NodeState, NodeTable};
use gleann_storage::{Area, BLOCK_TRAILER, LogicalBlock, PageTable};

/// How many places one block of an area stands for.
pub(crate) fn per_block(block_bytes: usize, item_bytes: usize) -> usize {
    (block_bytes - BLOCK_TRAILER) / item_bytes
}

/// Writes the codes and keys that places taken since the last checkpoint have, and makes both areas as long as `places`
/// places need.
///
/// `states` says what each place held when the checkpoint began: of a free place nothing may be read.
///
/// # Errors
/// As [`Commit::write`].
pub(crate) fn write_areas(
    commit: &mut Commit,
    (nodes, states): (&NodeTable, &[NodeState]),
    (changed, places): (&[u32], u32),
    block: &mut [u8],
) -> Result<(), PagesError> {
    let code_bytes = nodes.codes().code_bytes();
    for (area, item_bytes) in [(Area::Codes, code_bytes), (Area::Keys, 8)] {
        let per_block = per_block(block.len(), item_bytes);
        let blocks = (places as usize).div_ceil(per_block) as u32;
        let mut changed: Vec<u32> = changed.iter().map(|&id| id / per_block as u32).collect();
        changed.extend(commit.blocks(area)..blocks);
        changed.sort_unstable();
        changed.dedup();
        for index in changed {
            block.fill(0);
            let first = index as usize * per_block;
            for (id, place) in (first..).zip(block.chunks_exact_mut(item_bytes)).take(per_block) {
                if states.get(id).is_none_or(|&state| state == NodeState::Free) {
                    continue;
                }
                match area {
                    Area::Codes => place.copy_from_slice(nodes.codes().code(id as u32)),
                    _ => place.copy_from_slice(&nodes.key(id as u32).to_le_bytes()),
                }
            }
            commit.write(LogicalBlock { area, index }, block)?;
        }
    }
    Ok(())
}

/// Reads an area: `count` items of `item_bytes` each, into `take`.
///
/// # Errors
/// A block is missing or damaged.
pub(crate) fn read_area(
    pages: &Pages,
    area: (&PageTable, Area),
    items: (usize, usize),
    mut take: impl FnMut(usize, &[u8]),
) -> Result<(), PagesError> {
    read_blocks(pages, area, items, |read| read.map(|(id, item)| take(id, item)))
}

/// Reads an area: `count` items of `item_bytes` each, in order, and an error for every block that cannot be read; until
/// `take` fails.
///
/// # Errors
/// What `take` fails with.
pub(crate) fn read_blocks<E>(
    pages: &Pages,
    (table, area): (&PageTable, Area),
    (count, item_bytes): (usize, usize),
    mut take: impl FnMut(Result<(usize, &[u8]), PagesError>) -> Result<(), E>,
) -> Result<(), E> {
    let mut block = vec![0; pages.layout().block_bytes()];
    let per_block = per_block(block.len(), item_bytes);
    for index in 0..count.div_ceil(per_block) {
        if let Err(error) = pages.read(table, LogicalBlock { area, index: index as u32 }, &mut block) {
            take(Err(error))?;
            continue;
        }
        let first = index * per_block;
        let items = block.chunks_exact(item_bytes).take(per_block.min(count - first));
        for item in (first..).zip(items) {
            take(Ok(item))?;
        }
    }
    Ok(())
}

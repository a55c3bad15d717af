//! A compact copy of the blocks of one table, as a snapshot or to leave idle space behind.

use super::block_file::BlockFile;
use super::error::PagesError;
use super::store::{Pages, PagesPlace, Shared};
use super::switch::{SwitchError, switch_table};
use super::write_buffer::GATHERED;
use gleann_storage::{Area, LogicalBlock, PageTable, StoredPageTable, Volume};
use std::sync::Arc;

impl Pages {
    /// Writes the blocks of `table`, verified, and a table with `root` into `volume`, without the space between them:
    /// an index that opens there with the same content and sequence number. `table` should be held: commits may go on.
    ///
    /// # Errors
    /// There is a table already, a block is damaged, or the system refused on either side.
    pub fn copy_to(&self, table: &PageTable, volume: Arc<dyn Volume>, root: &[u8]) -> Result<(), PagesError> {
        let place = PagesPlace { volume, ..self.shared.place.clone() };
        place.refuse_table()?;
        let copy = BlockFile::create(&*place.volume, place.layout)?;
        copy.write_header(&self.shared.file.header()?)?;
        // At most as many blocks as there are in the file.
        copy.resize(table.blocks() as u32)?;
        let mut next = 0;
        let areas = Area::ALL.map(|area| {
            let first = next;
            next += table.area(area).len() as u32;
            (first..next).collect::<Vec<u32>>()
        });
        for area in Area::ALL {
            self.shared.copy_area(table, area, (&copy, areas[area as usize].first().copied()))?;
        }
        copy.sync()?;
        let table = PageTable::new(table.sequence(), areas);
        let stored = StoredPageTable { index: place.index, layout: place.layout, table, root: root.to_vec() };
        switch_table(&*place.volume, &stored)
            .map_err(|SwitchError::Before(error) | SwitchError::Unsure(error)| error.into())
    }
}

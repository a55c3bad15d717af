//! A compact copy of the blocks of one table, as a snapshot or to leave idle space behind.

use super::block_file::{BLOCK_FILE_NAME, BlockFile};
use super::error::PagesError;
use super::store::{Pages, PagesPlace, Shared, TABLE_NAME};
use super::write_buffer::GATHERED;
use gleann_storage::{Area, LogicalBlock, PageTable, StorageError, Volume};
use std::sync::Arc;

impl Pages {
    /// Writes the blocks of `table`, verified, and a table with `root` into `volume`, without the space between them:
    /// an index that opens there with the same content and sequence number. Commits may go on meanwhile.
    ///
    /// # Errors
    /// There is a block file or table already, a block is damaged, or the system refused on either side. What was
    /// written is then not an index.
    pub fn copy_to(&self, table: &PageTable, volume: Arc<dyn Volume>, root: &[u8]) -> Result<(), PagesError> {
        let place = PagesPlace { volume, ..self.shared.place.clone() };
        place.refuse(TABLE_NAME)?;
        place.refuse(BLOCK_FILE_NAME)?;
        let copy = BlockFile::create(&*place.volume, place.layout)?;
        // No more blocks than the file has. All of the room first: a full disk shows before anything is copied.
        copy.resize(table.blocks() as u32)?;
        copy.write_header(&self.shared.file.header()?)?;
        let mut next = 0;
        let mut areas = [const { Vec::new() }; 3];
        for area in Area::ALL {
            let first = next;
            self.shared.copy_area(table, area, &mut |blocks| {
                copy.write(blocks, next)?;
                next += (blocks.len() / copy.block_bytes()) as u32;
                Ok(())
            })?;
            areas[area as usize] = (first..next).collect();
        }
        copy.sync()?;
        let table = PageTable::new(table.sequence(), areas);
        Ok(place.store_table(table, root).map(drop)?)
    }
}

impl Shared {
    /// Reads the blocks of an area in order, verified, many at a time.
    fn copy_area(
        &self,
        table: &PageTable,
        area: Area,
        write: &mut dyn FnMut(&[u8]) -> Result<(), StorageError>,
    ) -> Result<(), PagesError> {
        let size = self.file.block_bytes();
        let most = (GATHERED / size).max(1);
        let mut buffer = vec![0; most * size];
        for (piece, first) in table.area(area).chunks(most).zip((0u32..).step_by(most)) {
            let mut rest = &mut buffer[..piece.len() * size];
            for run in piece.chunk_by(|place, next| place.checked_add(1) == Some(*next)) {
                let (now, behind) = rest.split_at_mut(run.len() * size);
                self.file.read(now, run[0])?;
                rest = behind;
            }
            let blocks = &buffer[..piece.len() * size];
            for ((bytes, &place), index) in blocks.chunks_exact(size).zip(piece).zip(first..) {
                self.verify(place, LogicalBlock { area, index }, bytes)?;
            }
            write(blocks)?;
        }
        Ok(())
    }
}

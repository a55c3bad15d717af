//! Neighbour lists of landed candidates, in two allocations: ids, and the codes where records hold them.

use crate::live::room;
use gleann_storage::{Layout, Record};

/// The lists a search holds on to, by number.
#[derive(Default)]
pub(crate) struct Lists {
    /// A list takes `stride` words: its length, then the ids.
    ids: Vec<u32>,
    stride: usize,
    /// A list takes `code_stride` bytes.
    codes: Vec<u8>,
    code_stride: usize,
    code_bytes: usize,
    free: Vec<u16>,
}

impl Lists {
    /// Forgets all lists and makes ready for those of `layout`, which may be longer where they change.
    pub(crate) fn reset(&mut self, layout: &Layout, changes: bool) {
        self.stride = 1 + if changes { room(layout.degree()) } else { layout.degree() };
        self.code_bytes = layout.code_bytes();
        self.code_stride = self.code_bytes * layout.degree();
        let lists = self.ids.len() / self.stride;
        self.codes.resize(lists * self.code_stride, 0);
        self.free.clear();
        self.free.extend((0..lists as u16).rev());
    }

    /// Keeps the neighbours of a record; the number of their list.
    pub(crate) fn keep(&mut self, record: &Record<'_>) -> u16 {
        let list = self.free.pop().unwrap_or_else(|| {
            let list = (self.ids.len() / self.stride) as u16;
            self.ids.resize((list as usize + 1) * self.stride, 0);
            self.codes.resize((list as usize + 1) * self.code_stride, 0);
            list
        });
        let place = &mut self.ids[list as usize * self.stride..][..self.stride];
        place[0] = record.degree() as u32;
        for (to, id) in place[1..].iter_mut().zip(record.neighbours()) {
            *to = id;
        }
        let codes = record.codes();
        self.codes[list as usize * self.code_stride..][..codes.len()].copy_from_slice(codes);
        list
    }

    /// Lets `change` change the ids of a list: all places there are, and how many of them are taken.
    pub(crate) fn patch(&mut self, list: u16, change: impl FnOnce(&mut [u32], &mut usize)) {
        let place = &mut self.ids[list as usize * self.stride..][..self.stride];
        let (length, ids) = place.split_at_mut(1);
        let mut taken = length[0] as usize;
        change(ids, &mut taken);
        length[0] = taken as u32;
    }

    /// The ids of a list.
    pub(crate) fn ids(&self, list: u16) -> &[u32] {
        let place = &self.ids[list as usize * self.stride..][..self.stride];
        &place[1..=place[0] as usize]
    }

    /// The codes of a list, in the order of its ids; empty where records hold none.
    pub(crate) fn codes(&self, list: u16) -> &[u8] {
        &self.codes[list as usize * self.code_stride..][..self.ids(list).len() * self.code_bytes]
    }

    /// Gives the place of a list free.
    pub(crate) fn release(&mut self, list: u16) {
        self.free.push(list);
    }
}

//! What is kept in memory of every node of a live index: its code, its key, and whether it lives.

use gleann_quant::Codes;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};

/// Whether a place holds a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum NodeState {
    /// It holds nothing.
    Free = 0,
    /// It holds a node.
    Live = 1,
    /// It holds a deleted node, which lists still name: it is walked through, and is no result.
    Dead = 2,
}

/// Code, key and state of every place, by internal id. Has room for places to come; where that is used up, a larger
/// table takes its place in the next view.
#[derive(Debug)]
pub struct NodeTable {
    codes: Codes,
    keys: Box<[AtomicU64]>,
    states: Box<[AtomicU8]>,
}

impl NodeTable {
    /// A table of the codes, of which there is one for every place.
    pub fn new(codes: Codes) -> Self {
        let places = codes.len();
        Self {
            codes,
            keys: (0..places).map(|_| AtomicU64::new(0)).collect(),
            states: (0..places).map(|_| AtomicU8::new(NodeState::Free as u8)).collect(),
        }
    }

    /// The same table with room for `places` places, if it has less.
    #[must_use]
    pub fn grown(&self, places: usize) -> Self {
        let new = Self::new(self.codes.with_room(places));
        for (id, (key, state)) in self.keys.iter().zip(&self.states).enumerate() {
            new.keys[id].store(key.load(Ordering::Relaxed), Ordering::Relaxed);
            new.states[id].store(state.load(Ordering::Relaxed), Ordering::Relaxed);
        }
        new
    }

    /// Number of places there is room for.
    pub fn places(&self) -> usize {
        self.states.len()
    }

    /// The codes.
    #[inline]
    pub fn codes(&self) -> &Codes {
        &self.codes
    }

    /// What a place holds.
    ///
    /// # Panics
    /// If there is no such place.
    #[inline]
    pub fn state(&self, id: u32) -> NodeState {
        match self.states[id as usize].load(Ordering::Acquire) {
            1 => NodeState::Live,
            2 => NodeState::Dead,
            _ => NodeState::Free,
        }
    }

    /// The user's key of a node.
    ///
    /// # Panics
    /// If there is no such place.
    #[inline]
    pub fn key(&self, id: u32) -> u64 {
        self.keys[id as usize].load(Ordering::Relaxed)
    }

    /// Marks a place.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn mark(&self, id: u32, state: NodeState) {
        self.states[id as usize].store(state as u8, Ordering::Release);
    }

    /// Sets what a place holds, but for its code: while the table is filled and nobody else has it.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn restore(&self, id: u32, key: u64, state: NodeState) {
        self.keys[id as usize].store(key, Ordering::Relaxed);
        self.mark(id, state);
    }

    /// Puts a node into a free place.
    ///
    /// # Safety
    /// No search whose view is older than the place's being free may run: it could be reading the code.
    ///
    /// # Panics
    /// If there is no such place, or it is not free.
    pub unsafe fn settle(&self, id: u32, key: u64, code: &[u8]) {
        assert_eq!(self.state(id), NodeState::Free, "node {id} settles in a place that is taken");
        // SAFETY: by the caller's promise nobody knows the place; whoever learns of it does so by an overlay's lock or
        // a new view, after this.
        unsafe { self.codes.write_shared(id, code) };
        self.keys[id as usize].store(key, Ordering::Relaxed);
        self.mark(id, NodeState::Live);
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        self.codes.memory_bytes() + 9 * self.places()
    }
}

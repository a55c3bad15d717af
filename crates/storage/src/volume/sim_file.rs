//! A file of the simulated volume: its durable bytes, its current bytes, and the changes between the two.

use std::collections::BTreeMap;

/// The longest file: beyond it lies a mistake of the caller.
pub(crate) const MAX_FILE: u64 = 1 << 34;

/// The most that a disk writes whole or not at all.
pub(crate) const SECTOR: u64 = 512;

/// A change that no sync has made durable.
#[derive(Debug, Clone)]
enum Change {
    Write { offset: u64, bytes: Vec<u8> },
    Length(u64),
}

/// What a file holds, and what of it a power loss leaves.
#[derive(Debug, Clone, Default)]
pub(crate) struct SimFile {
    durable: Vec<u8>,
    current: Vec<u8>,
    unsynced: Vec<Change>,
}

/// What survives of unsynced changes.
#[derive(Debug)]
pub(crate) enum Survival {
    Nothing,
    Everything,
    /// The state of a generator (splitmix64).
    Some(u64),
}

impl Survival {
    /// Seed 0: nothing. Seed `u64::MAX`: everything. Any other: some.
    pub(crate) fn of_seed(seed: u64) -> Self {
        match seed {
            0 => Self::Nothing,
            u64::MAX => Self::Everything,
            seed => Self::Some(seed),
        }
    }

    /// How many of `count` changes happened: from none to all.
    pub(crate) fn pick(&mut self, count: usize) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Everything => count,
            Self::Some(state) => (splitmix(state) % (count as u64 + 1)) as usize,
        }
    }

    /// How many of `count` changes happened, one more or less by `leaning`: -1 rather none, 1 rather all.
    fn pick_leaning(&mut self, count: usize, leaning: i8) -> usize {
        let first = self.pick(count);
        match leaning {
            0 => first,
            1 => first.max(self.pick(count)).max(self.pick(count)),
            _ => first.min(self.pick(count)).min(self.pick(count)),
        }
    }
}

fn splitmix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mixed = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

impl SimFile {
    /// A file all of which is durable.
    pub(crate) fn durable(bytes: Vec<u8>) -> Self {
        Self { durable: bytes.clone(), current: bytes, unsynced: Vec::new() }
    }

    pub(crate) fn len(&self) -> u64 {
        self.current.len() as u64
    }

    pub(crate) fn current(&self) -> &[u8] {
        &self.current
    }

    pub(crate) fn write(&mut self, bytes: &[u8], offset: u64) {
        if bytes.is_empty() {
            return;
        }
        write(&mut self.current, bytes, offset);
        self.unsynced.push(Change::Write { offset, bytes: bytes.to_vec() });
    }

    pub(crate) fn set_len(&mut self, length: u64) {
        self.current.resize(length as usize, 0);
        self.unsynced.push(Change::Length(length));
    }

    pub(crate) fn sync(&mut self) {
        for change in self.unsynced.drain(..) {
            match change {
                Change::Write { offset, bytes } => write(&mut self.durable, &bytes, offset),
                Change::Length(length) => self.durable.resize(length as usize, 0),
            }
        }
    }

    /// A failed sync: the system takes the pages for clean. They can still be read, and are never written.
    pub(crate) fn lose_unsynced(&mut self) {
        self.unsynced.clear();
    }

    /// The bytes after a power loss. Every sector is in one of the states it went through since the last sync,
    /// each for itself; so is the length.
    pub(crate) fn after_power_loss(&self, survival: &mut Survival) -> Vec<u8> {
        let leaning = [-1, 0, 1][survival.pick(2)];
        let lengths = self.lengths();
        let kept = survival.pick_leaning(lengths.len() - 1, leaning);
        let widest = lengths.iter().copied().max().unwrap_or(0);
        let mut bytes = self.durable.clone();
        bytes.resize(widest as usize, 0);
        for (sector, changes) in self.changed_sectors(&lengths) {
            // The changes of length that are kept are of the file, not of the sector.
            let kept_length =
                |&number: &usize| number < kept && matches!(self.unsynced[number], Change::Length(_));
            let certain = changes.iter().rposition(kept_length).map_or(0, |last| last + 1);
            let happened = certain + survival.pick_leaning(changes.len() - certain, leaning);
            let range = (sector * SECTOR, ((sector + 1) * SECTOR).min(widest));
            for &number in &changes[..happened] {
                self.unsynced[number].apply_to(range, number < kept, &mut bytes);
            }
        }
        bytes.truncate(lengths[kept] as usize);
        bytes
    }

    /// The durable length, then the length after each unsynced change.
    fn lengths(&self) -> Vec<u64> {
        let mut length = self.durable.len() as u64;
        let mut lengths = vec![length];
        for change in &self.unsynced {
            length = match change {
                Change::Write { offset, bytes } => length.max(offset + bytes.len() as u64),
                Change::Length(length) => *length,
            };
            lengths.push(length);
        }
        lengths
    }

    /// By sector, the numbers of the unsynced changes that touch it. `lengths` as from [`SimFile::lengths`].
    fn changed_sectors(&self, lengths: &[u64]) -> BTreeMap<u64, Vec<usize>> {
        let widest = lengths.iter().copied().max().unwrap_or(0);
        let mut sectors: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (number, change) in self.unsynced.iter().enumerate() {
            let (from, to) = match change {
                Change::Write { offset, bytes } => (*offset, offset + bytes.len() as u64),
                Change::Length(length) if *length < lengths[number] => (*length, widest),
                Change::Length(_) => continue,
            };
            for sector in from / SECTOR..to.div_ceil(SECTOR) {
                sectors.entry(sector).or_default().push(number);
            }
        }
        sectors
    }
}

impl Change {
    /// Makes the change in the part of `file` from `from` to `to`, a change of length only where it is `kept`.
    fn apply_to(&self, (from, to): (u64, u64), kept: bool, file: &mut [u8]) {
        match self {
            Self::Write { offset, bytes } => {
                let (begin, end) = ((*offset).max(from), (offset + bytes.len() as u64).min(to));
                let source = &bytes[(begin - offset) as usize..(end - offset) as usize];
                file[begin as usize..end as usize].copy_from_slice(source);
            }
            Self::Length(length) if kept => file[(*length).max(from) as usize..to as usize].fill(0),
            Self::Length(_) => {}
        }
    }
}

fn write(file: &mut Vec<u8>, bytes: &[u8], offset: u64) {
    let (begin, end) = (offset as usize, offset as usize + bytes.len());
    if file.len() < end {
        file.resize(end, 0);
    }
    file[begin..end].copy_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(file: &SimFile, seed: u64) -> Vec<u8> {
        file.after_power_loss(&mut Survival::of_seed(seed))
    }

    #[test]
    fn a_sector_is_in_one_of_the_states_it_went_through() {
        let mut file = SimFile::durable(vec![0; 2048]);
        file.write(&[1; 100], 0);
        file.write(&[2; 100], 100);
        file.write(&[3; 1024], 1024);
        let mut seen = std::collections::BTreeSet::new();
        for seed in 1..500 {
            let bytes = image(&file, seed);
            let state = (bytes[0], bytes[100]);
            assert!([(0, 0), (1, 0), (1, 2)].contains(&state), "the second write of a page is never alone");
            assert!(bytes[512..1024].iter().all(|&byte| byte == 0));
            assert!(bytes[1024..1536].iter().all(|&byte| byte == bytes[1024]), "a sector is whole");
            assert!(bytes[1536..].iter().all(|&byte| byte == bytes[1536]));
            seen.insert((state, bytes[1024], bytes[1536]));
        }
        assert_eq!(seen.len(), 3 * 2 * 2, "every combination is met: {seen:?}");
        assert_eq!(image(&file, 0), vec![0; 2048]);
        assert_eq!(image(&file, u64::MAX), file.current());
        file.sync();
        assert_eq!(image(&file, 0), file.current());
    }

    #[test]
    fn what_was_cut_does_not_come_back_once_the_cut_is_kept() {
        let mut file = SimFile::durable(vec![9; 1000]);
        file.set_len(10);
        file.set_len(1000);
        file.write(&[5], 999);
        assert_eq!(image(&file, u64::MAX), file.current());
        let mut lengths = std::collections::BTreeSet::new();
        for seed in 1..200 {
            let bytes = image(&file, seed);
            assert!(bytes[..10].iter().all(|&byte| byte == 9));
            let cut = bytes.len() == 10 || bytes[10] == 0;
            assert!(!cut || bytes[10..].iter().all(|&byte| byte == 0 || byte == 5));
            lengths.insert((bytes.len(), cut));
        }
        assert_eq!(lengths.into_iter().collect::<Vec<_>>(), [(10, true), (1000, false), (1000, true)]);
    }

    #[test]
    fn a_failed_sync_loses_what_can_still_be_read() {
        let mut file = SimFile::durable(vec![0; 4]);
        file.write(&[1], 0);
        file.lose_unsynced();
        file.write(&[2], 1);
        file.sync();
        assert_eq!(file.current(), [1, 2, 0, 0]);
        assert_eq!(image(&file, 0), [0, 2, 0, 0]);
        assert_eq!(image(&file, u64::MAX), [0, 2, 0, 0]);
    }
}

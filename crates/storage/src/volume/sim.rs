//! The simulated volume: files in memory that keep apart what is durable and what is not, with scripted faults, a
//! limited capacity, and crashes after which it is known what a power loss may have left.
//!
//! The model of a crash: every sector (512 bytes) of a file is in one of the states it went through since the last
//! sync of the file, each sector for itself; of the changes of names since the last sync of the directory the first
//! few have happened, each whole. That is less than file systems promise, and what the contract of [`Volume`] says.

use crate::volume::os::check_name;
use crate::volume::sim_file::{MAX_FILE, SimFile, Survival};
use crate::volume::{Volume, VolumeFile};
use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A volume in memory. Clones are handles to the same volume.
///
/// Operations that change something (create, rename, remove, `write_at`, `set_len`, sync, `sync_dir`) are counted from
/// 0 on; faults go by that number.
#[derive(Debug, Clone, Default)]
pub struct SimVolume(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    files: BTreeMap<FileNumber, SimFile>,
    names: BTreeMap<String, FileNumber>,
    durable_names: BTreeMap<String, FileNumber>,
    /// Changes of names since the last sync of the directory.
    unsynced: Vec<NameChange>,
    next_file: FileNumber,
    operations: u64,
    faults: BTreeMap<u64, io::ErrorKind>,
    faulty_from: Option<(u64, io::ErrorKind)>,
    crash_at: Option<u64>,
    crashed: bool,
    capacity: Option<u64>,
}

type FileNumber = u64;

#[derive(Debug, Clone)]
enum NameChange {
    Link(String, FileNumber),
    Rename(String, String),
    Remove(String),
}

impl NameChange {
    fn apply(&self, names: &mut BTreeMap<String, FileNumber>) {
        match self {
            Self::Link(name, file) => {
                names.insert(name.clone(), *file);
            }
            Self::Rename(from, to) => {
                let file = names.remove(from).expect("a name is renamed after it was made");
                names.insert(to.clone(), file);
            }
            Self::Remove(name) => {
                names.remove(name).expect("a name is removed after it was made");
            }
        }
    }
}

impl SimVolume {
    /// An empty volume without faults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Operations so far, those that failed included.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Lets operation number `operation` fail, once. A `write_at` that fails has written the first half of its bytes;
    /// a file sync that fails loses what was unsynced, although it can still be read; others have changed nothing.
    pub fn fail_at(&self, operation: u64, kind: io::ErrorKind) {
        self.state().faults.insert(operation, kind);
    }

    /// Lets every operation from number `operation` on fail, as in [`SimVolume::fail_at`].
    pub fn fail_from(&self, operation: u64, kind: io::ErrorKind) {
        self.state().faulty_from = Some((operation, kind));
    }

    /// Ends all faults that were asked for.
    pub fn heal(&self) {
        let mut state = self.state();
        state.faults.clear();
        state.faulty_from = None;
    }

    /// Crashes when operation number `operation` begins: it does not happen, and from then on every call fails, reads
    /// included.
    pub fn crash_at(&self, operation: u64) {
        self.state().crash_at = Some(operation);
    }

    /// Whether the crash has come.
    pub fn crashed(&self) -> bool {
        self.state().crashed
    }

    /// Limits the sum of the lengths of all files. What would grow past it fails with
    /// [`io::ErrorKind::StorageFull`] and changes nothing, until there is room.
    pub fn set_capacity(&self, bytes: u64) {
        self.state().capacity = Some(bytes);
    }

    /// Sum of the lengths of all files.
    pub fn used(&self) -> u64 {
        self.state().used()
    }

    /// The volume as a power loss at this moment may leave it, without faults or limits. Seed 0: nothing survives that
    /// was not synced. Seed `u64::MAX`: everything does. Any other seed: some of it, always the same for the same
    /// seed and the same operations.
    pub fn crash_image(&self, seed: u64) -> Self {
        let state = self.state();
        let mut survival = Survival::of_seed(seed);
        let mut names = state.durable_names.clone();
        for change in &state.unsynced[..survival.pick(state.unsynced.len())] {
            change.apply(&mut names);
        }
        let mut image = State { next_file: state.next_file, ..State::default() };
        for &file in names.values() {
            let bytes = state.files[&file].after_power_loss(&mut survival);
            image.files.insert(file, SimFile::durable(bytes));
        }
        image.durable_names = names.clone();
        image.names = names;
        Self(Arc::new(Mutex::new(image)))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A test that panicked elsewhere shall not hide its message behind this one's.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, number: FileNumber) -> Box<dyn VolumeFile> {
        Box::new(SimHandle { volume: self.clone(), number })
    }
}

impl State {
    /// The state, for a call that only reads.
    fn alive(&self) -> io::Result<&Self> {
        if self.crashed { Err(io::Error::other("the simulated volume has crashed")) } else { Ok(self) }
    }

    /// Counts an operation; an error where it is to fail.
    fn begin(&mut self) -> io::Result<()> {
        self.alive()?;
        let operation = self.operations;
        if self.crash_at.is_some_and(|at| operation >= at) {
            self.crashed = true;
            self.alive()?;
        }
        self.operations += 1;
        let lasting = self.faulty_from.filter(|(from, _)| operation >= *from).map(|(_, kind)| kind);
        match self.faults.get(&operation).copied().or(lasting) {
            Some(kind) => Err(io::Error::new(kind, format!("simulated failure of operation {operation}"))),
            None => Ok(()),
        }
    }

    fn used(&self) -> u64 {
        self.names.values().map(|number| self.files[number].len()).sum()
    }

    /// Refuses growth of a file of `old` bytes to `new` bytes for which there is no room.
    fn check_room(&self, old: u64, new: u64) -> io::Result<()> {
        if new > MAX_FILE {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let room = self.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(self.used()));
        if new.saturating_sub(old) > room {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "the simulated volume is full"));
        }
        Ok(())
    }

    fn change_name(&mut self, change: NameChange) {
        change.apply(&mut self.names);
        self.unsynced.push(change);
    }

    fn file(&mut self, number: FileNumber) -> &mut SimFile {
        self.files.get_mut(&number).expect("files are never dropped")
    }

    fn existing(&self, name: &str) -> io::Result<FileNumber> {
        let missing = || io::Error::new(io::ErrorKind::NotFound, format!("there is no file {name:?}"));
        self.names.get(name).copied().ok_or_else(missing)
    }
}

impl Volume for SimVolume {
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn VolumeFile>>> {
        check_name(name)?;
        Ok(self.state().alive()?.names.get(name).map(|&number| self.file(number)))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        check_name(name)?;
        let mut state = self.state();
        state.begin()?;
        // As in a directory: first the old name goes, then the new one comes.
        if state.names.contains_key(name) {
            state.change_name(NameChange::Remove(name.to_owned()));
        }
        let number = state.next_file;
        state.next_file += 1;
        state.files.insert(number, SimFile::default());
        state.change_name(NameChange::Link(name.to_owned(), number));
        Ok(self.file(number))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        check_name(from)?;
        check_name(to)?;
        let mut state = self.state();
        state.begin()?;
        state.existing(from)?;
        state.change_name(NameChange::Rename(from.to_owned(), to.to_owned()));
        Ok(())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        check_name(name)?;
        let mut state = self.state();
        state.begin()?;
        state.existing(name)?;
        state.change_name(NameChange::Remove(name.to_owned()));
        Ok(())
    }

    fn list(&self) -> io::Result<Vec<String>> {
        Ok(self.state().alive()?.names.keys().cloned().collect())
    }

    fn sync_dir(&self) -> io::Result<()> {
        let mut state = self.state();
        state.begin()?;
        state.durable_names = state.names.clone();
        state.unsynced.clear();
        Ok(())
    }

    fn path(&self, name: &str) -> PathBuf {
        PathBuf::from("sim:").join(name)
    }
}

/// An open file of a [`SimVolume`]. Removed, it lives on for its handles, as in a directory.
#[derive(Debug)]
struct SimHandle {
    volume: SimVolume,
    number: FileNumber,
}

impl SimHandle {
    fn in_state<T>(&self, call: impl FnOnce(&mut State) -> io::Result<T>) -> io::Result<T> {
        call(&mut self.volume.state())
    }
}

impl VolumeFile for SimHandle {
    fn len(&self) -> io::Result<u64> {
        self.in_state(|state| Ok(state.alive()?.files[&self.number].len()))
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.in_state(|state| {
            let file = state.alive()?.files[&self.number].current();
            let end = offset.checked_add(bytes.len() as u64).filter(|&end| end <= file.len() as u64);
            let Some(end) = end else {
                return Err(io::ErrorKind::UnexpectedEof.into());
            };
            bytes.copy_from_slice(&file[offset as usize..end as usize]);
            Ok(())
        })
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let Some(end) = offset.checked_add(bytes.len() as u64) else {
            return Err(io::ErrorKind::FileTooLarge.into());
        };
        self.in_state(|state| {
            if let Err(error) = state.begin() {
                if !state.crashed && end <= MAX_FILE {
                    state.file(self.number).write(&bytes[..bytes.len() / 2], offset);
                }
                return Err(error);
            }
            let old = state.file(self.number).len();
            state.check_room(old, end)?;
            state.file(self.number).write(bytes, offset);
            Ok(())
        })
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.in_state(|state| {
            state.begin()?;
            let old = state.file(self.number).len();
            state.check_room(old, length)?;
            state.file(self.number).set_len(length);
            Ok(())
        })
    }

    fn sync(&self) -> io::Result<()> {
        self.in_state(|state| match state.begin() {
            Ok(()) => {
                state.file(self.number).sync();
                Ok(())
            }
            Err(error) => {
                if !state.crashed {
                    state.file(self.number).lose_unsynced();
                }
                Err(error)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    fn read(volume: &SimVolume, name: &str) -> Option<Vec<u8>> {
        let file = volume.open(name).unwrap()?;
        let mut bytes = vec![0; file.len().unwrap() as usize];
        file.read_at(&mut bytes, 0).unwrap();
        Some(bytes)
    }

    /// Replaces the file "a" as one should: temporary file, sync, rename, sync of the directory.
    fn replace(volume: &SimVolume, bytes: &[u8]) -> io::Result<()> {
        let file = volume.create("a.tmp")?;
        file.write_at(bytes, 0)?;
        file.sync()?;
        volume.rename("a.tmp", "a")?;
        volume.sync_dir()
    }

    #[test]
    fn a_file_replaced_rightly_is_old_or_new_after_any_crash() {
        let (old, new) = (vec![1; 3000], vec![2; 5000]);
        for operation in 0..5 {
            for seed in (0..100).chain([u64::MAX]) {
                let volume = SimVolume::new();
                replace(&volume, &old).unwrap();
                volume.crash_at(volume.operations() + operation);
                assert!(replace(&volume, &new).is_err());
                assert!(volume.crashed() && volume.list().is_err() && volume.open("a").is_err());
                let image = volume.crash_image(seed);
                let found = read(&image, "a").unwrap();
                assert!(found == old || found == new);
                assert!(operation == 4 || found == old, "the rename has not happened yet");
                let same = volume.crash_image(seed);
                assert_eq!(read(&same, "a.tmp"), read(&image, "a.tmp"), "a seed gives one image");
                assert_eq!(image.operations(), 0);
                replace(&image, &new).unwrap();
            }
        }
    }

    #[test]
    fn a_file_replaced_without_sync_is_caught() {
        let volume = SimVolume::new();
        replace(&volume, &[1; 600]).unwrap();
        let file = volume.create("a.tmp").unwrap();
        file.write_at(&[2; 600], 0).unwrap();
        volume.rename("a.tmp", "a").unwrap();
        volume.sync_dir().unwrap();
        assert_eq!(read(&volume.crash_image(0), "a").unwrap(), [0; 0], "length and bytes were never synced");
        assert_eq!(read(&volume.crash_image(u64::MAX), "a").unwrap(), [2; 600]);
    }

    #[test]
    fn a_created_file_takes_the_place_of_the_old_one() {
        let volume = SimVolume::new();
        replace(&volume, b"old").unwrap();
        let old = volume.open("a").unwrap().unwrap();
        volume.create("a").unwrap().write_at(b"new!", 0).unwrap();
        assert_eq!((old.len().unwrap(), volume.used()), (3, 4));
        let images = (1..100).map(|seed| read(&volume.crash_image(seed), "a"));
        let mut images: Vec<_> = images.collect();
        images.sort();
        images.dedup();
        let whole = |bytes: &[u8]| Some(bytes.to_vec());
        // The four zeros: the length survived and the bytes did not.
        assert_eq!(images, [None, whole(b""), whole(&[0; 4]), whole(b"new!"), whole(b"old")]);
    }

    #[test]
    fn operations_fail_when_told_to() {
        let volume = SimVolume::new();
        let file = volume.create("a").unwrap();
        volume.fail_at(1, ErrorKind::Other);
        assert_eq!(file.write_at(b"12345678", 0).unwrap_err().kind(), ErrorKind::Other);
        assert_eq!(read(&volume, "a").unwrap(), b"1234", "a failed write is half a write");
        volume.fail_from(2, ErrorKind::StorageFull);
        for _ in 0..3 {
            assert_eq!(file.set_len(9).unwrap_err().kind(), ErrorKind::StorageFull);
        }
        assert!(
            volume.remove("a").is_err() && volume.rename("a", "b").is_err() && volume.create("c").is_err()
        );
        assert_eq!(volume.list().unwrap(), ["a"]);
        volume.heal();
        file.set_len(9).unwrap();
        assert_eq!(volume.operations(), 9);
    }

    #[test]
    fn a_full_volume_takes_more_once_there_is_room() {
        let volume = SimVolume::new();
        let (a, b) = (volume.create("a").unwrap(), volume.create("b").unwrap());
        a.set_len(600).unwrap();
        volume.set_capacity(1000);
        assert_eq!(b.set_len(401).unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(b.write_at(&[1; 401], 0).unwrap_err().kind(), ErrorKind::StorageFull);
        assert_eq!(b.len().unwrap(), 0);
        b.write_at(&[1; 400], 0).unwrap();
        a.write_at(&[1; 600], 0).unwrap();
        assert!(a.write_at(&[1; 2], 599).is_err());
        volume.remove("b").unwrap();
        a.write_at(&[1; 2], 599).unwrap();
        assert_eq!(volume.used(), 601);
    }

    #[test]
    fn names_and_ranges_are_checked() {
        let volume = SimVolume::new();
        assert_eq!(volume.create("a/b").err().map(|error| error.kind()), Some(ErrorKind::InvalidInput));
        assert_eq!(volume.remove("a").unwrap_err().kind(), ErrorKind::NotFound);
        let file = volume.create("a").unwrap();
        assert_eq!(file.read_at(&mut [0], 0).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(file.read_at(&mut [0], u64::MAX).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(file.write_at(&[0], u64::MAX).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(file.set_len(1 << 60).unwrap_err().kind(), ErrorKind::FileTooLarge);
    }
}

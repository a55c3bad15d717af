//! A simulated volume at whose operations, reads included, other threads get their turn.

use gleann_storage::{SimVolume, Volume, VolumeFile};
use shuttle::sync::atomic::{AtomicBool, Ordering};
use std::io;
use std::path::PathBuf;

/// The volume. Others run before an operation, and after one that makes something durable: there lies what tells too early.
#[derive(Clone, Default)]
pub struct Stepped(pub SimVolume);

struct SteppedFile(Box<dyn VolumeFile>);

/// Others may run here. An access that nobody else is interested in, because a yield would put this thread behind them.
fn hand_over() {
    AtomicBool::new(false).load(Ordering::SeqCst);
}

fn step<R>(operation: impl FnOnce() -> R) -> R {
    hand_over();
    operation()
}

fn wrapped(file: Box<dyn VolumeFile>) -> Box<dyn VolumeFile> {
    Box::new(SteppedFile(file))
}

impl Volume for Stepped {
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn VolumeFile>>> {
        Ok(self.0.open(name)?.map(wrapped))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        step(|| self.0.create(name)).map(wrapped)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        step(|| self.0.rename(from, to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        step(|| self.0.remove(name))
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.0.list()
    }

    fn sync_dir(&self) -> io::Result<()> {
        step(|| self.0.sync_dir())
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path(name)
    }
}

impl VolumeFile for SteppedFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        step(|| self.0.read_at(bytes, offset))
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        step(|| self.0.write_at(bytes, offset))
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        step(|| self.0.set_len(length))
    }

    fn sync(&self) -> io::Result<()> {
        let synced = step(|| self.0.sync());
        hand_over();
        synced
    }
}

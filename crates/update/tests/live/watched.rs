//! A simulated volume that tells before anything changes in it.

use gleann_storage::{SimVolume, Volume, VolumeFile};
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

type Hook = Box<dyn FnMut(&SimVolume, &str) + Send>;

/// A volume whose hook is called before every operation that changes something, with the name of the file. What the hook
/// does to the volume calls no hook.
#[derive(Clone, Default)]
pub struct Watched {
    pub inner: SimVolume,
    hook: Arc<Mutex<Option<Hook>>>,
}

impl Watched {
    pub fn new() -> Self {
        Self { inner: SimVolume::new(), hook: Arc::default() }
    }

    pub fn watch(&self, hook: impl FnMut(&SimVolume, &str) + Send + 'static) {
        *self.hook.lock().unwrap() = Some(Box::new(hook));
    }

    pub fn look_away(&self) {
        *self.hook.lock().unwrap() = None;
    }

    fn tell(&self, name: &str) {
        let hook = self.hook.lock().unwrap().take();
        if let Some(mut hook) = hook {
            hook(&self.inner, name);
            *self.hook.lock().unwrap() = Some(hook);
        }
    }

    fn wrap(&self, name: &str, file: Box<dyn VolumeFile>) -> Box<dyn VolumeFile> {
        Box::new(WatchedFile { volume: self.clone(), name: name.to_owned(), file })
    }
}

impl Volume for Watched {
    fn open(&self, name: &str) -> io::Result<Option<Box<dyn VolumeFile>>> {
        Ok(self.inner.open(name)?.map(|file| self.wrap(name, file)))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn VolumeFile>> {
        self.tell(name);
        Ok(self.wrap(name, self.inner.create(name)?))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.tell(to);
        self.inner.rename(from, to)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.tell(name);
        self.inner.remove(name)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        self.inner.list()
    }

    fn sync_dir(&self) -> io::Result<()> {
        self.tell("");
        self.inner.sync_dir()
    }

    fn path(&self, name: &str) -> PathBuf {
        self.inner.path(name)
    }
}

struct WatchedFile {
    volume: Watched,
    name: String,
    file: Box<dyn VolumeFile>,
}

impl VolumeFile for WatchedFile {
    fn len(&self) -> io::Result<u64> {
        self.file.len()
    }

    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        self.file.read_at(bytes, offset)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.volume.tell(&self.name);
        self.file.write_at(bytes, offset)
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.volume.tell(&self.name);
        self.file.set_len(length)
    }

    fn sync(&self) -> io::Result<()> {
        self.volume.tell(&self.name);
        self.file.sync()
    }
}

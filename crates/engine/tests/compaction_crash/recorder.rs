//! What has been done to the files of one directory, in order.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// One change, or a word of the test. Paths are relative to the directory; files have numbers of their own.
#[derive(Debug, Clone)]
pub enum Event {
    Made {
        path: PathBuf,
        file: u64,
    },
    Directory {
        path: PathBuf,
    },
    Renamed {
        from: PathBuf,
        to: PathBuf,
    },
    Removed {
        path: PathBuf,
    },
    Written {
        file: u64,
        offset: u64,
        bytes: Vec<u8>,
    },
    /// `cuts`: the file is no longer than that either.
    Length {
        file: u64,
        length: u64,
        cuts: bool,
    },
    Synced {
        file: u64,
    },
    NamesSynced {
        directory: PathBuf,
    },
    /// An update was begun: its number.
    Began(usize),
    /// It was acknowledged.
    Ended(usize),
}

/// Takes down what happens below one directory.
pub struct Recorder {
    root: PathBuf,
    events: Vec<Event>,
    names: BTreeSet<PathBuf>,
    /// By the numbers that the system gives to files, which it gives again once they are removed.
    files: HashMap<u64, u64>,
    next: u64,
}

static RECORDER: Mutex<Option<Recorder>> = Mutex::new(None);

/// The recorder, for as long as the guard is held; none if nothing is recorded.
pub fn recording() -> MutexGuard<'static, Option<Recorder>> {
    RECORDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Begins to record, with the files there are: path, and the number that the system has for it.
pub fn start(root: &Path, files: &[(PathBuf, u64)]) {
    let names = files.iter().map(|(path, _)| path.clone()).collect();
    let numbered = files.iter().map(|&(_, system)| system).zip(0..).collect();
    let next = files.len() as u64;
    *recording() = Some(Recorder { root: root.to_owned(), events: Vec::new(), names, files: numbered, next });
}

/// Ends it: what has happened.
pub fn stop() -> Vec<Event> {
    recording().take().expect("something was recorded").events
}

/// Takes down what the test says.
pub fn say(event: Event) {
    recording().as_mut().expect("something is recorded").events.push(event);
}

impl Recorder {
    fn below(&self, path: &Path) -> Option<PathBuf> {
        Some(path.strip_prefix(&self.root).ok()?.to_owned())
    }

    /// A file was opened that may have been made or emptied by that.
    pub fn opened(&mut self, path: PathBuf, system: u64, emptied: bool) {
        let Some(path) = self.below(&path) else { return };
        if self.names.insert(path.clone()) {
            self.files.insert(system, self.next);
            self.events.push(Event::Made { path, file: self.next });
            self.next += 1;
        } else if emptied {
            self.add(Event::Length { file: system, length: 0, cuts: true });
        }
    }

    /// A write has returned `written`.
    pub fn wrote(&mut self, system: Option<u64>, offset: u64, bytes: *const u8, written: isize) {
        let file = system.and_then(|system| self.files.get(&system));
        if let (Some(&file), Ok(written @ 1..)) = (file, usize::try_from(written)) {
            // SAFETY: the system has just read so many bytes there.
            let bytes = unsafe { std::slice::from_raw_parts(bytes, written) }.to_vec();
            self.events.push(Event::Written { file, offset, bytes });
        }
    }

    /// Something has been done, by the system's paths and numbers.
    pub fn add(&mut self, event: Event) {
        let event = match event {
            Event::Renamed { from, to } => match (self.below(&from), self.below(&to)) {
                (Some(from), Some(to)) => {
                    self.names.remove(&from);
                    self.names.insert(to.clone());
                    Some(Event::Renamed { from, to })
                }
                (None, None) => None,
                _ => panic!("{} became {}", from.display(), to.display()),
            },
            Event::Removed { path } => self.below(&path).map(|path| {
                self.names.remove(&path);
                Event::Removed { path }
            }),
            Event::Directory { path } => self.below(&path).map(|path| Event::Directory { path }),
            Event::NamesSynced { directory } => {
                self.below(&directory).map(|directory| Event::NamesSynced { directory })
            }
            Event::Length { file, length, cuts } => {
                self.files.get(&file).map(|&file| Event::Length { file, length, cuts })
            }
            Event::Synced { file } => self.files.get(&file).map(|&file| Event::Synced { file }),
            said => Some(said),
        };
        self.events.extend(event);
    }
}

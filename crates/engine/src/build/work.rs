//! The directory `.build` in which an unfinished index grows.

use super::BuildError;
use super::disk::sync_directory;
use super::phase::Phase;
use super::state::{Inputs, Member, State};
use gleann_storage::{IndexDirectory, MemberEntry, MemberKind};
use std::fs::{self, File, TryLockError};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

const DIRECTORY: &str = ".build";
const STATE: &str = "state.json";
const LOCK: &str = "lock";

/// Where the work on an index in `out` is.
pub(crate) fn work_directory(out: &Path) -> PathBuf {
    out.join(DIRECTORY)
}

/// An unfinished index: its files, and how far it is. Locked against a second build.
#[derive(Debug)]
pub(crate) struct Work {
    pub out: PathBuf,
    dir: PathBuf,
    pub state: State,
    /// The last phase that an earlier run has finished.
    pub continued_after: Option<Phase>,
    _lock: File,
}

impl Work {
    /// Whether an index may be made in `out`.
    ///
    /// # Errors
    /// There is a finished index, or something that is not ours.
    pub(crate) fn check_output(out: &Path) -> Result<(), BuildError> {
        if work_directory(out).is_dir() {
            return Ok(());
        }
        if IndexDirectory::is_index(out) {
            return Err(BuildError::output(
                out,
                "is an index already; remove it, or choose another directory",
            ));
        }
        match fs::read_dir(out) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
                Err(BuildError::output(out, "is not a directory; choose another name"))
            }
            Err(error) => Err(BuildError::io("reading the directory", out)(error)),
            Ok(mut entries) => match entries.next() {
                None => Ok(()),
                Some(_) => Err(BuildError::output(out, "is not empty; give a new or an empty directory")),
            },
        }
    }

    /// Opens the work in `out`, made if need be, or emptied if `restart`. `inputs` are held against those of
    /// an earlier run.
    ///
    /// # Errors
    /// Another build is running there, or an earlier run was about something else.
    pub(crate) fn open(out: &Path, inputs: &Inputs, restart: bool) -> Result<Self, BuildError> {
        let dir = work_directory(out);
        fs::create_dir_all(&dir).map_err(BuildError::io("making the directory", &dir))?;
        let lock = lock(out, &dir)?;
        if restart && !IndexDirectory::is_index(out) {
            remove_files(&dir)?;
            // Members that had got their place before the build was stopped.
            MemberKind::ALL.iter().try_for_each(|kind| remove_file(&out.join(kind.file_name())))?;
        }
        let path = dir.join(STATE);
        let state =
            State::read(&path)?.unwrap_or_else(|| State { inputs: inputs.clone(), ..State::default() });
        if let Some(differences) = state.differences(inputs) {
            return Err(BuildError::Different { path: out.to_owned(), differences });
        }
        let continued_after = state.finished.keys().max().copied();
        Ok(Self { out: out.to_owned(), dir, state, continued_after, _lock: lock })
    }

    /// A file of the work.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The directory of the work, where members are written.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Notes a finished member.
    pub(crate) fn add_member(&mut self, entry: &MemberEntry) {
        self.state.members.retain(|member| member.name != entry.name);
        self.state.members.push(Member::of(entry));
    }

    /// Makes what the state says durable.
    ///
    /// # Errors
    /// The system refused.
    pub(crate) fn commit(&self) -> Result<(), BuildError> {
        self.state.write(&self.path(STATE))
    }

    /// Removes a file that is not needed any more, if it is there.
    ///
    /// # Errors
    /// The system refused.
    pub(crate) fn remove(&self, name: &str) -> Result<(), BuildError> {
        remove_file(&self.path(name))
    }

    /// Moves the members to their final place, durably.
    ///
    /// # Errors
    /// The system refused.
    pub(crate) fn move_members(&self) -> Result<(), BuildError> {
        for member in &self.state.members {
            let (from, to) = (self.path(&member.name), self.out.join(&member.name));
            match fs::rename(&from, &to) {
                // An earlier run has moved it.
                Err(error) if error.kind() == io::ErrorKind::NotFound && to.exists() => {}
                moved => moved.map_err(BuildError::io("moving", &from))?,
            }
        }
        sync_directory(&self.out)
    }

    /// Removes the work.
    ///
    /// # Errors
    /// The system refused.
    pub(crate) fn clear(self) -> Result<(), BuildError> {
        // The state last: as long as it is there, what is left is known as ours.
        for entry in fs::read_dir(&self.dir).map_err(BuildError::io("reading the directory", &self.dir))? {
            let entry = entry.map_err(BuildError::io("reading the directory", &self.dir))?;
            if entry.file_name() != STATE {
                remove_file(&entry.path())?;
            }
        }
        remove_file(&self.path(STATE))?;
        fs::remove_dir(&self.dir).map_err(BuildError::io("removing the directory", &self.dir))?;
        sync_directory(&self.out)
    }
}

fn lock(out: &Path, dir: &Path) -> Result<File, BuildError> {
    let path = dir.join(LOCK);
    let file = File::create(&path).map_err(BuildError::io("creating", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(BuildError::output(out, "another build is running there; wait for it"))
        }
        // Some network file systems have no locks.
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => Ok(file),
        Err(TryLockError::Error(error)) => Err(BuildError::io("locking", &path)(error)),
    }
}

fn remove_files(dir: &Path) -> Result<(), BuildError> {
    for entry in fs::read_dir(dir).map_err(BuildError::io("reading the directory", dir))? {
        let entry = entry.map_err(BuildError::io("reading the directory", dir))?;
        if entry.file_name() != LOCK {
            remove_file(&entry.path())?;
        }
    }
    Ok(())
}

fn remove_file(path: &Path) -> Result<(), BuildError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(BuildError::io("removing", path)),
    }
}

/// Fills `into` with a work file, which must be as long.
pub(crate) fn read_file(path: &Path, into: &mut [u8]) -> Result<(), BuildError> {
    let mut file = File::open(path).map_err(BuildError::io("opening", path))?;
    let found = file.metadata().map_err(BuildError::io("asking the length of", path))?.len();
    if found != into.len() as u64 {
        return Err(BuildError::damaged(path, format!("it has {found} bytes, expected {}", into.len())));
    }
    file.read_exact(into).map_err(BuildError::io("reading", path))
}

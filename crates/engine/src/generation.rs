//! One generation of an open index: the cores that search it, what takes its updates, and its files. A static index has
//! one for ever.

use crate::error::OpenError;
use crate::executor::Executors;
use crate::info::IndexInfo;
use crate::live::{AnyUpdates, Updates, remove_directory};
use crate::open::{Opened, open};
use crate::options::OpenOptions;
use gleann_search::SearchError;
use gleann_storage::{
    Generation, IndexDirectory, MANIFEST_NAME, MemberKind, PAGE_TABLE_NAME, REPORT_NAME, StorageError,
};
use gleann_update::UpdateError;
use gleann_vector::{Element, ElementType};
use half::f16;
use std::any::Any;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// An open generation. Dropped, it answers what it has been asked, and ends.
pub(crate) struct OpenGeneration {
    /// Ends before the cores, and after the searches that hold its views.
    updates: Option<Box<dyn AnyUpdates>>,
    executors: Box<dyn Any + Send + Sync>,
    /// Gone last.
    files: Files,
}

/// Where the files of a generation are; they go with it once another has taken its place.
struct Files {
    index: PathBuf,
    generation: Generation,
    superseded: AtomicBool,
}

impl OpenGeneration {
    /// Opens what `directory` holds: generation `generation` of the index in `index`.
    ///
    /// # Errors
    /// As [`Index::open`](crate::Index::open).
    pub(crate) fn open(
        index: &Path,
        (generation, directory): (Generation, &IndexDirectory),
        options: &OpenOptions,
    ) -> Result<(Self, IndexInfo), OpenError> {
        let files = Files { index: index.to_owned(), generation, superseded: AtomicBool::new(false) };
        match directory.manifest().layout.element() {
            ElementType::F32 => Ok(Self::run(open::<f32>(directory, options)?, files)),
            ElementType::F16 => Ok(Self::run(open::<f16>(directory, options)?, files)),
            ElementType::U8 => Ok(Self::run(open::<u8>(directory, options)?, files)),
            ElementType::I8 => Ok(Self::run(open::<i8>(directory, options)?, files)),
        }
    }

    fn run<T: Element>(opened: Opened<T>, files: Files) -> (Self, IndexInfo) {
        let updates = opened.updates.map(|updates| Box::new(updates) as Box<dyn AnyUpdates>);
        let info = IndexInfo { path: files.index.clone(), ..opened.info };
        (Self { updates, executors: Box::new(opened.executors), files }, info)
    }

    /// Which one it is.
    pub(crate) fn number(&self) -> Generation {
        self.files.generation
    }

    /// Its directory.
    pub(crate) fn directory(&self) -> PathBuf {
        self.files.generation.directory(&self.files.index)
    }

    /// What takes updates; none in a static index.
    pub(crate) fn any_updates(&self) -> Option<&dyn AnyUpdates> {
        self.updates.as_deref()
    }

    /// What takes updates.
    ///
    /// # Errors
    /// The index is static.
    pub(crate) fn updates(&self) -> Result<&dyn AnyUpdates, UpdateError> {
        self.any_updates().ok_or_else(|| UpdateError::ReadOnly {
            path: self.files.index.clone(),
            found: "a static index takes no updates; make it live first (make_live, or `update --make-live`)",
        })
    }

    /// What takes updates of this element type; none if the index has another.
    ///
    /// # Errors
    /// The index is static.
    pub(crate) fn updates_of<T: Element>(&self) -> Result<Option<&Updates<T>>, UpdateError> {
        Ok(self.updates()?.as_any().downcast_ref())
    }

    /// What searches for elements of this type; `expected` is that of the index.
    ///
    /// # Errors
    /// They are of another.
    pub(crate) fn executors_for<T: Element>(
        &self,
        expected: ElementType,
    ) -> Result<&Executors<T>, SearchError> {
        self.executors.downcast_ref().ok_or(SearchError::Element { found: T::TYPE, expected })
    }

    /// Nanoseconds each core has spent waiting for reads with nothing else to do.
    pub(crate) fn idle_ns(&self) -> Vec<u64> {
        fn of<T: Element>(any: &dyn Any) -> Option<Vec<u64>> {
            any.downcast_ref::<Executors<T>>().map(Executors::idle_ns)
        }
        let any = &*self.executors;
        of::<f32>(any)
            .or_else(|| of::<f16>(any))
            .or_else(|| of::<u8>(any))
            .or_else(|| of::<i8>(any))
            .unwrap_or_default()
    }

    /// Another has taken its place: its files go when it ends.
    pub(crate) fn supersede(&self) {
        self.files.superseded.store(true, Ordering::Release);
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        if self.superseded.load(Ordering::Acquire)
            && let Err(error) = remove_generation(&self.index, self.generation)
        {
            log::warn!("{error}; it is tried again when the index is opened");
        }
    }
}

/// Removes what a crash has left of other generations than the current one.
///
/// # Errors
/// The system refused.
pub(crate) fn remove_leftovers(index: &Path, current: Generation) -> Result<(), UpdateError> {
    let failed = |source| StorageError::Io { action: "listing", path: index.to_owned(), source };
    for entry in fs::read_dir(index).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        if !Generation::owns(&name) || name == current.name() {
            continue;
        }
        if entry.file_type().map_err(failed)?.is_dir() {
            remove_directory(&entry.path())?;
        } else {
            remove_file(&entry.path())?;
        }
    }
    if current > Generation(0) { remove_generation(index, Generation(0)) } else { Ok(()) }
}

/// Removes the files of a generation, the first by name: they lie beside what belongs to all.
fn remove_generation(index: &Path, generation: Generation) -> Result<(), UpdateError> {
    if generation > Generation(0) {
        return remove_directory(&generation.directory(index));
    }
    for name in [MANIFEST_NAME, PAGE_TABLE_NAME, REPORT_NAME] {
        remove_file(&index.join(name))?;
    }
    for kind in MemberKind::ALL {
        remove_file(&index.join(kind.file_name()))?;
    }
    let failed = |source| StorageError::Io { action: "listing", path: index.to_owned(), source };
    for entry in fs::read_dir(index).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with("wal-") || name.starts_with("table.gln")) {
            remove_file(&entry.path())?;
        }
    }
    Ok(())
}

fn remove_file(path: &Path) -> Result<(), UpdateError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => {
            Err(StorageError::Io { action: "removing", path: path.to_owned(), source }.into())
        }
        _ => Ok(()),
    }
}

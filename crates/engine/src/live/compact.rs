//! Compaction: the graph of all live vectors, built anew beside the one in use, takes its place.
//!
//! 1. The vectors of one moment are written into a file; from then on, changed keys are noted.
//! 2. An index is built of them, made live and opened, as the next generation.
//! 3. What has changed meanwhile is done again there, until little is left.
//! 4. Updates wait; the rest is done again, the new log is made durable, `CURRENT` names the new generation, and searches and
//!    updates go there from then on.
//! 5. The old generation ends with its last search, and its files go.
//!
//! A crash before `CURRENT` is replaced leaves the old generation with its log, a later one the new with its own. What is left
//! of the other is removed when the index is opened.

use crate::build::{BuildError, build, build_from_rows, options_again};
use crate::generation::OpenGeneration;
use crate::live::Updates;
use crate::live::create::make_live;
use crate::live::snapshot::{remove_directory, sync_directory};
use crate::shared::Shared;
use gleann_storage::{Generation, IndexDirectory};
use gleann_update::{Live, Rewrite, UpdateError};
use gleann_vector::{Element, FileFormat, Matrix, Silent, VectorFile, VectorWriter};
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Changed keys that are few enough to be done again while updates wait.
const FEW: usize = 256;
/// Rounds after which updates wait however many keys are left: they change faster than they can be done again.
const ROUNDS: usize = 8;

/// Builds the next generation of `shared` and switches to it.
///
/// # Errors
/// A block cannot be read, the build failed, or the system refused: the index is as before.
pub(crate) fn compact<T: Element>(shared: &Shared, old: &OpenGeneration) -> Result<(), UpdateError> {
    let updates = old.updates_of::<T>()?.ok_or(UpdateError::Closed)?;
    let index = &shared.info.path;
    let next = Next { index, old, generation: Generation(old.number().0 + 1) };
    let done = next.build(&updates.live, shared).and_then(|generation| {
        let new = generation.updates_of::<T>()?.ok_or(UpdateError::Closed)?;
        catch_up(&updates.live, new)?;
        switch(shared, &updates.live, &generation)
    });
    updates.live.end_copy();
    if done.is_err() && Generation::current(index).is_ok_and(|current| current == old.number()) {
        // The first error is the one to report; what is left is removed when the index is opened.
        let _ = remove_directory(&next.directory());
    }
    let generation = done?;
    link_buffered::<T>(&generation);
    Ok(())
}

/// The generation that is being made.
struct Next<'a> {
    index: &'a Path,
    old: &'a OpenGeneration,
    generation: Generation,
}

impl Next<'_> {
    fn directory(&self) -> PathBuf {
        self.generation.directory(self.index)
    }

    /// For `map_err` on whatever goes wrong with the build.
    fn failed<E: Display>(&self) -> impl Fn(E) -> UpdateError {
        let path = self.index.to_owned();
        move |error| UpdateError::Rebuild { path: path.clone(), cause: error.to_string() }
    }

    /// Steps 1 and 2.
    fn build<T: Element>(&self, live: &Live<T>, shared: &Shared) -> Result<Arc<OpenGeneration>, UpdateError> {
        let directory = self.directory();
        remove_directory(&directory)?;
        let threads = shared.options.updates.threads.max(1);
        self.build_static(live, threads)?;
        make_live(&directory, live.backend()).map_err(self.failed())?;
        sync_directory(self.index)?;
        let built = IndexDirectory::open_live(&directory)?;
        let opened = OpenGeneration::open(self.index, (self.generation, &built), &shared.options);
        Ok(Arc::new(opened.map_err(self.failed())?.0))
    }

    fn build_static<T: Element>(&self, live: &Live<T>, threads: usize) -> Result<(), UpdateError> {
        let of = IndexDirectory::open_live(&self.old.directory())?;
        let (layout, mut options) = (of.manifest().layout, options_again(&of));
        options.threads = threads;
        let format = FileFormat::big_ann(T::TYPE);
        let vectors = self.index.join(format!("{}.vectors.{format}", self.generation.name()));
        let keys = self.export(live, (&vectors, format), layout.dim())?;
        let rows = keys.len();
        options.keys = Some(keys).filter(|keys| !keys.is_empty());
        let built = if rows == 0 {
            build_from_rows(&Matrix::<T>::zeroed(0, layout.dim()), &self.directory(), &options, &Silent)
        } else {
            VectorFile::open(&vectors)
                .map_err(BuildError::from)
                .and_then(|file| build(&file, &self.directory(), &options, &Silent))
        };
        let removed = fs::remove_file(&vectors);
        built.map_err(self.failed())?;
        removed.map_err(self.failed())
    }

    /// Writes all vectors into a file; their keys, in its order.
    fn export<T: Element>(
        &self,
        live: &Live<T>,
        (path, format): (&Path, FileFormat),
        dim: usize,
    ) -> Result<Vec<u64>, UpdateError> {
        let copying = live.begin_copy();
        let mut writer = VectorWriter::<T>::create(path, format, dim).map_err(self.failed())?;
        let mut keys = Vec::new();
        live.copy(&copying, &mut |key, vector| {
            keys.push(key);
            writer.push_rows(vector).map_err(self.failed())
        })?;
        writer.finish().map_err(self.failed())?;
        Ok(keys)
    }
}

/// Step 3.
fn catch_up<T: Element>(old: &Live<T>, new: &Updates<T>) -> Result<(), UpdateError> {
    for _ in 0..ROUNDS {
        let changed = old.take_changed();
        redo(old, &new.live, &changed)?;
        if new.live.is_merge_due() && !new.live.is_unbuilt() {
            new.rewrite_now(Rewrite::Changes)?;
        }
        if changed.len() <= FEW {
            break;
        }
    }
    Ok(())
}

/// Brings the vectors of some keys up to date.
fn redo<T: Element>(old: &Live<T>, new: &Live<T>, keys: &[u64]) -> Result<(), UpdateError> {
    for &key in keys {
        match old.get(key)? {
            Some(vector) => new.put(key, &vector, true).map(drop)?,
            None => new.delete(key).map(drop)?,
        }
    }
    Ok(())
}

/// Step 4.
fn switch<T: Element>(
    shared: &Shared,
    old: &Live<T>,
    next: &Arc<OpenGeneration>,
) -> Result<Arc<OpenGeneration>, UpdateError> {
    let new = &next.updates_of::<T>()?.ok_or(UpdateError::Closed)?.live;
    let mut gate = shared.gate.write();
    redo(old, new, &old.take_changed())?;
    new.flush()?;
    let index = &shared.info.path;
    if let Err(error) = next.number().switch(index) {
        let error = UpdateError::from(error);
        if !Generation::current(index).is_ok_and(|current| current == next.number()) {
            return Err(error);
        }
        // Both may be found after a power loss, so neither may promise anything.
        *gate = Some(error.clone());
        return Err(error);
    }
    shared.supersede(next.clone());
    Ok(next.clone())
}

/// Links what was done again while the generation was made, if its backend links directly. What fails here is linked later.
fn link_buffered<T: Element>(generation: &OpenGeneration) {
    let linked = match generation.updates_of::<T>() {
        Ok(Some(updates)) if !updates.live.is_buffered() && updates.live.has_buffers() => {
            updates.rewrite_now(Rewrite::Changes)
        }
        _ => Ok(()),
    };
    if let Err(error) = linked {
        log::error!("a merge after a compaction failed, and is tried again when the next is due: {error}");
    }
}

//! What every build begins with, whatever it makes: its work is opened, its input is scanned, and both are held
//! against what an earlier run has left.

use super::BuildError;
use super::input::Input;
use super::meter::Meter;
use super::phase::Phase;
use super::scan::{Stop, scan, scan_keys};
use super::state::Inputs;
use super::work::Work;
use gleann_storage::IndexDirectory;
use gleann_vector::{ContentHash, Element, Key, Progress};
use std::path::Path;

/// What is asked of a build, whatever it makes.
pub(crate) struct Asked<'a> {
    pub out: &'a Path,
    pub keys: Option<&'a [Key]>,
    /// Whether to throw away what an earlier run has left.
    pub restart: bool,
    pub progress: &'a dyn Progress,
}

/// A build that has begun: the phase `Scan` is behind it.
pub(crate) struct Begun {
    /// Its state holds all inputs.
    pub work: Work,
    pub content: ContentHash,
    pub keys: Option<ContentHash>,
}

/// Begins a build of `input`, which is shaped by `inputs` and by what `origin` says of where it comes from. `None`
/// where an earlier run has finished it.
///
/// # Errors
/// Another build is running there or an earlier run was about something else, the rows or keys are unusable or cannot
/// be read, or `progress` asked to stop.
pub(crate) fn begin<T: Element>(
    input: &Input<'_, T>,
    mut inputs: Inputs,
    asked: &Asked<'_>,
    origin: impl FnOnce() -> Result<Inputs, BuildError>,
) -> Result<Option<Begun>, BuildError> {
    let mut work = Work::open(asked.out, &inputs, asked.restart)?;
    let meter = Meter::start();
    let keys = asked.keys.map(scan_keys).transpose()?;
    let content = scan(input, asked.progress).map_err(|stop| match stop {
        Stop::Cancelled => {
            BuildError::Cancelled { path: asked.out.to_owned(), finished: work.continued_after }
        }
        Stop::Error(error) => error,
    })?;
    inputs.insert("content".into(), content.to_string());
    inputs.extend(origin()?);
    inputs.insert("keys".into(), keys.map_or("row numbers".into(), |hash| hash.to_string()));
    if let Some(differences) = work.state.differences(&inputs) {
        return Err(BuildError::Different { path: asked.out.to_owned(), differences });
    }
    if IndexDirectory::is_index(asked.out) {
        // An earlier run was stopped between the manifest and the removal of its work.
        work.clear()?;
        return Ok(None);
    }
    work.state.inputs = inputs;
    work.state.finished.insert(Phase::Scan, meter.stop());
    work.commit()?;
    Ok(Some(Begun { work, content, keys }))
}

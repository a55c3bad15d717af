//! The first graph of an index that began empty: built in the background once there are vectors enough.

use crate::error::OpenError;
use crate::shared::Shared;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

/// The thread that builds the first graph.
pub(crate) struct Bootstrap {
    shared: Arc<Shared>,
    nudges: Option<flume::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Bootstrap {
    /// Starts it, if the index has no graph.
    ///
    /// # Errors
    /// The system gives no thread.
    pub(crate) fn start(shared: &Arc<Shared>) -> Result<Option<Self>, OpenError> {
        if shared.unbuilt().is_none() {
            return Ok(None);
        }
        let (nudges, intake) = flume::bounded(1);
        let of = shared.clone();
        let thread = std::thread::Builder::new()
            .name("gleann-bootstrap".into())
            .spawn(move || run(&of, &intake))
            .map_err(|error| OpenError::Workers { cause: error.to_string() })?;
        let bootstrap = Self { shared: shared.clone(), nudges: Some(nudges), thread: Some(thread) };
        bootstrap.nudge();
        Ok(Some(bootstrap))
    }

    /// Builds the graph if it is time.
    pub(crate) fn nudge(&self) {
        if let Some(nudges) = &self.nudges
            && self.shared.is_graph_due()
        {
            // One nudge that waits is enough.
            let _ = nudges.try_send(());
        }
    }
}

fn run(shared: &Shared, nudges: &flume::Receiver<()>) {
    while nudges.recv().is_ok() {
        // A merge may have been faster.
        if !shared.is_graph_due() {
            continue;
        }
        if let Err(error) = shared.compact() {
            log::error!(
                "the first graph could not be built, and is tried again with twice the vectors: {error}"
            );
            if let Ok(updates) = shared.generation().updates() {
                updates.note_failure(format!("the first graph could not be built: {error}"));
            }
            let vectors = shared.unbuilt().unwrap_or(0);
            shared.bootstrap.store(2 * vectors.max(1), Ordering::Relaxed);
        }
    }
}

impl Drop for Bootstrap {
    fn drop(&mut self) {
        self.nudges = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

//! The last step: the files get their place, and the manifest makes them an index.

use super::BuildError;
use super::report::BuildReport;
use super::run::Run;
use gleann_storage::write_report;
use gleann_vector::{Element, NodeId};

impl<T: Element> Run<'_, T> {
    /// Publishes the index. Until the manifest is there the directory is none; from then on it is whole.
    pub(crate) fn finish(mut self) -> Result<BuildReport, BuildError> {
        self.progress.phase("finish", 0);
        let build_id = self.manifest.build_id;
        let mut report = BuildReport::new(&self.plan, &self.work.state, build_id.to_string());
        report.continued_after = self.work.continued_after;
        self.work.move_members()?;
        write_report(&self.work.out, build_id, report.to_json())?;
        let state = &self.work.state;
        self.manifest.entry = state.entry_place.or(state.entry).map(NodeId);
        self.manifest.members = self.work.state.members();
        self.manifest.publish(&self.work.out)?;
        self.work.clear()?;
        Ok(report)
    }
}

//! The part of a check that takes a graph to know, of an index of postings.

use crate::build::read_spann_report;
use crate::check::{IndexCheck, same_parameters};
use gleann_graph::{Graph, reachable};
use gleann_storage::{IndexDirectory, MemberKind, REPORT_NAME, StorageError};
use gleann_vector::{Element, ElementType, Progress};
use half::f16;

/// Holds `build.json` against the manifest. An unreadable one has been reported before.
pub(crate) fn check_spann_report(check: &mut IndexCheck, index: &IndexDirectory) {
    let Ok(map) = index.report() else { return };
    let report = match read_spann_report(map) {
        Ok(report) => report,
        Err(message) => return check.problem(REPORT_NAME, None, message),
    };
    let manifest = index.manifest();
    let bytes = manifest.members.iter().map(|entry| (entry.name.clone(), entry.bytes)).collect();
    let differences = [
        ("rows", report.rows != check.rows),
        ("members", report.members != bytes),
        ("copies", check.is_sound() && report.copies != check.copies),
        ("parameters", !same_parameters(&report.parameters, manifest)),
    ];
    for (field, _) in differences.into_iter().filter(|(_, differs)| *differs) {
        check.problem(REPORT_NAME, None, format!("\"{field}\" is not that of the index"));
    }
}

/// Looks for centroids that no search can reach.
///
/// # Errors
/// The system refused, or `progress` asked to stop.
pub(crate) fn check_centroids(
    check: &mut IndexCheck,
    index: &IndexDirectory,
    progress: &dyn Progress,
) -> Result<(), StorageError> {
    progress.phase("check reachability", 0);
    if progress.cancelled() {
        return Err(StorageError::Cancelled);
    }
    let manifest = index.manifest();
    let lists = match manifest.layout.element() {
        ElementType::F32 => lists::<f32>(index)?,
        ElementType::F16 => lists::<f16>(index)?,
        ElementType::U8 => lists::<u8>(index)?,
        ElementType::I8 => lists::<i8>(index)?,
    };
    let graph = Graph::from_lists(&lists, manifest.layout.degree(), manifest.entry.map(|node| node.0));
    let Ok(reached) = reachable(&graph, graph.entry());
    check.reachable = Some(reached.count());
    for posting in reached.unreached() {
        let message = format!("centroid {posting} cannot be reached from the entry point");
        check.problem(MemberKind::Centroids.file_name(), None, message);
    }
    Ok(())
}

fn lists<T: Element>(index: &IndexDirectory) -> Result<Vec<Vec<u32>>, StorageError> {
    Ok(index.centroids::<T>()?.map(|centroids| centroids.lists).unwrap_or_default())
}

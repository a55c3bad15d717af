//! `build.json`: what the build measured, for people and plots.
//!
//! It is not a member and no search reads it. It holds times, which differ from run to run, so a checksum of
//! it would make the manifest differ too; what ties it to its index is the build id it carries.

use crate::atomic_file::replace_file;
use crate::build_id::BuildId;
use crate::error::{FieldError, StorageError};
use serde_json::{Map, Value};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Name of the report inside the index directory.
pub const REPORT_NAME: &str = "build.json";

const MOST: u64 = 16 << 20;

/// Writes the report, adding `build_id` to it.
///
/// # Errors
/// The system refused.
pub fn write_report(
    dir: &Path,
    build_id: BuildId,
    mut report: Map<String, Value>,
) -> Result<(), StorageError> {
    report.insert("build_id".into(), build_id.to_string().into());
    let text = format!("{:#}\n", Value::Object(report));
    replace_file(&dir.join(REPORT_NAME), text.as_bytes())
}

/// Reads the report of the build `build_id`.
///
/// # Errors
/// There is none, it is not JSON, or it is another build's.
pub fn read_report(dir: &Path, build_id: BuildId) -> Result<Map<String, Value>, StorageError> {
    const REMEDY: &str = "the index works without it; build again to have it";
    let path = dir.join(REPORT_NAME);
    let file = File::open(&path).map_err(StorageError::io("opening", &path))?;
    let mut text = Vec::new();
    file.take(MOST).read_to_end(&mut text).map_err(StorageError::io("reading", &path))?;
    let report: Map<String, Value> = serde_json::from_slice(&text)
        .map_err(|error| FieldError::new("the report", error, "a JSON object").at(&path, REMEDY))?;
    let found = report.get("build_id").and_then(Value::as_str).unwrap_or("absent");
    if found != build_id.to_string() {
        let found = found.escape_default();
        return Err(FieldError::new("\"build_id\"", found, build_id).at(&path, REMEDY));
    }
    Ok(report)
}

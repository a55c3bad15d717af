//! What a check finds in an index whose files are whole, but wrong.
#![allow(clippy::unwrap_used)]

mod building;

use building::{build_sound, clustered, file, options};
use gleann::check_index;
use gleann_storage::{
    GraphWriter, IndexDirectory, MemberEntry, NewRecord, REPORT_NAME, write_codebook, write_codes,
    write_report,
};
use gleann_vector::{Metric, Silent};
use std::path::Path;

/// Builds an index, changes it, and returns what is found.
fn found(change: impl FnOnce(&Path, &IndexDirectory)) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("index");
    build_sound(&file(dir.path(), &clustered::<u8>(200, 16, 20)), &out, &options(Metric::L2));
    change(&out, &IndexDirectory::open(&out).unwrap());
    check_index(&out, &Silent).unwrap().problems.iter().map(ToString::to_string).collect()
}

/// Puts another member in the place of the one of its kind.
fn publish(out: &Path, index: &IndexDirectory, entry: MemberEntry) {
    let mut manifest = index.manifest().clone();
    manifest.members.retain(|member| member.kind != entry.kind);
    manifest.members.push(entry);
    manifest.publish(out).unwrap();
}

#[test]
fn nothing_is_found_in_a_sound_index() {
    assert_eq!(found(|_, _| {}), [""; 0]);
}

#[test]
fn a_code_of_another_vector_is_found() {
    let problems = found(|out, index| {
        let mut codes = index.codes().unwrap().unwrap();
        codes.row_mut(70)[3] ^= 1;
        let entry = write_codes(out, index.manifest().build_id, &codes).unwrap();
        publish(out, index, entry);
    });
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("pq.codes, byte 624: the code of node 70"), "{problems:?}");
}

#[test]
fn a_vector_that_cannot_be_reached_is_found() {
    let problems = found(|out, index| {
        let (graph, manifest) = (index.graph().unwrap(), index.manifest());
        let lost = if manifest.entry.unwrap().0 == 9 { 10 } else { 9 };
        let mut writer =
            GraphWriter::create(&out.join(".."), manifest.layout, manifest.nodes, manifest.build_id).unwrap();
        graph
            .for_each_record(&Silent, |_, record| {
                let list: Vec<u32> = record.neighbours().filter(|&id| id != lost).collect();
                let (vector, codes) = (record.vector::<u8>(), record.codes());
                writer.push(&NewRecord { vector, neighbours: &list, codes }).unwrap();
            })
            .unwrap();
        let entry = writer.finish().unwrap();
        std::fs::rename(out.join("..").join(&entry.name), out.join(&entry.name)).unwrap();
        publish(out, index, entry);
        // The report knows the degrees as they were.
        let mut report = index.report().unwrap();
        let degrees = degrees(out);
        report.insert("degrees".into(), degrees.into());
        write_report(out, manifest.build_id, report).unwrap();
    });
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("cannot be reached from the entry point"), "{problems:?}");
}

fn degrees(out: &Path) -> Vec<u64> {
    let mut degrees = vec![0; 17];
    let index = IndexDirectory::open(out).unwrap();
    index.graph().unwrap().for_each_record(&Silent, |_, record| degrees[record.degree()] += 1).unwrap();
    degrees
}

#[test]
fn a_codebook_of_another_kind_is_found() {
    let problems = found(|out, index| {
        let mut bytes = index.codebook().unwrap().unwrap();
        // The metric's word.
        bytes[4] = 2;
        let entry = write_codebook(out, index.manifest().build_id, &bytes).unwrap();
        publish(out, index, entry);
    });
    assert_eq!(problems, ["pq.codebook: it is for cosine and 16 dimensions, the index for l2 and 16"]);
    let problems = found(|out, index| {
        let entry = write_codebook(out, index.manifest().build_id, b"no codebook").unwrap();
        publish(out, index, entry);
    });
    assert!(problems.iter().any(|problem| problem.starts_with("pq.codebook: ")), "{problems:?}");
}

#[test]
fn a_report_of_something_else_is_found() {
    for (field, value) in
        [("rows", 7.into()), ("degrees", vec![1u64].into()), ("members", serde_json::json!({}))]
    {
        let problems = found(|out, index| {
            let mut report = index.report().unwrap();
            report.insert(field.into(), value);
            write_report(out, index.manifest().build_id, report).unwrap();
        });
        assert_eq!(problems, [format!("{REPORT_NAME}: \"{field}\" is not that of the index")]);
    }
}

//! Workloads with updates on the command line: what they print, what they write, what they refuse.

mod running;

use running::{done, refused};
use std::path::Path;

/// Base of 1300 rows, queries, and an index over the first 1000.
fn prepare(folder: &Path) {
    done(folder, "generate --rows 1300 --dim 16 --queries 40 --type u8 --seed 1 --out .");
    for name in ["base", "query"] {
        let made = folder.join(format!("synthetic-lowdim-{name}.u8bin"));
        std::fs::rename(made, folder.join(format!("{name}.u8bin"))).expect("generate has written it");
    }
    done(
        folder,
        "build-index --data base.u8bin --rows 1000 --out index --degree 16 --build-list 32 --pq-bytes 8 --quiet",
    );
}

fn rows(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).expect("results were written");
    text.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
}

const FILES: &str = "--base base.u8bin --query query.u8bin --list 40 --allow-buffered --engine pool";

#[test]
fn phases_and_rounds_are_measured_on_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    prepare(here);
    let before = std::fs::read(here.join("index/manifest.gln")).ok();
    for backend in ["odin", "fresh"] {
        let table = done(
            here,
            &format!(
                "run-bench updates --index index {FILES} --backend {backend} --idle-seconds 0.2 --delete 5% --insert 60 --in-flight 2 --out {backend}.jsonl --plot plots"
            ),
        );
        assert!(table.contains("over-time.svg"), "{table}");
        let rows = rows(&here.join(format!("{backend}.jsonl")));
        let phases: Vec<_> = rows.iter().map(|row| row["phase"].as_str().unwrap()).collect();
        assert_eq!(phases, ["idle", "delete", "insert"]);
        assert_eq!(
            rows.iter().map(|row| row["live"].as_u64().unwrap()).collect::<Vec<_>>(),
            [1000, 950, 1010]
        );
        for row in &rows {
            assert!(row["recall"].as_f64().unwrap() > 0.8, "{row}");
            assert!(row["search_qps"].as_f64().unwrap() > 0.0 && row["backend"] == backend, "{row}");
        }
    }
    assert_eq!(std::fs::read(here.join("index/manifest.gln")).ok(), before);
    assert!(
        !std::fs::read_dir(here)
            .unwrap()
            .any(|entry| { entry.unwrap().file_name().to_string_lossy().starts_with("live-") })
    );

    done(
        here,
        &format!(
            "run-bench churn --index index {FILES} --backend odin --rounds 2 --share 20% --out churn.jsonl"
        ),
    );
    let rows = rows(&here.join("churn.jsonl"));
    assert_eq!(rows.len(), 4);
    assert_eq!(rows[3]["phase"], "fresh build");
    for row in &rows {
        assert!(row["live"] == 1000 && row["recall"].as_f64().unwrap() > 0.8, "{row}");
    }
}

#[test]
fn a_runbook_is_carried_out() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    prepare(here);
    let book = "mine:
  max_pts: 1200
  1: {operation: insert, start: 0, end: 900}
  2: {operation: search}
  3: {operation: delete, start: 0, end: 300}
  4: {operation: search}
  5: {operation: concurrent, update: insert, start: 900, end: 1000}
  6: {operation: replace, tags_start: 300, tags_end: 400, ids_start: 1000, ids_end: 1100}
  7: {operation: search}
";
    std::fs::write(here.join("book.yaml"), book).unwrap();
    let flags = format!("{FILES} --backend odin --degree 16 --build-list 32 --pq-bytes 8");
    let plan = done(here, &format!("run-bench book.yaml {flags} --dry-run"));
    assert!(
        plan.contains("7 steps, 4 of them searches; at most 900 live") && plan.contains("extension"),
        "{plan}"
    );
    let table = done(here, &format!("run-bench book.yaml {flags} --out b.jsonl"));
    assert!(table.contains("mean recall@10"), "{table}");
    let rows = rows(&here.join("b.jsonl"));
    assert_eq!(
        rows.iter().map(|row| row["live"].as_u64().unwrap()).collect::<Vec<_>>(),
        [900, 900, 600, 600, 700, 700, 700]
    );
    for row in rows.iter().filter(|row| row["phase"] == "search") {
        assert!(row["recall"].as_f64().unwrap() > 0.8, "{row}");
    }
    std::fs::write(here.join("bad.yaml"), book.replace("start: 0, end: 300", "start: 0, end: 950")).unwrap();
    let complaint = refused(here, &format!("run-bench bad.yaml {flags}"));
    assert!(complaint.contains("step 3") && complaint.contains("tag 900"), "{complaint}");
}

#[test]
fn an_index_is_updated_from_the_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    prepare(here);
    assert!(refused(here, "update --index index --stats").contains("--make-live"));
    assert!(refused(here, "update --index index").contains("required"));
    let first = done(here, "update --index index --make-live odin --delete 0..100 --stats");
    assert!(first.contains("100 deleted, 0 were not there") && first.contains("900 live"), "{first}");
    let second =
        done(here, "update --index index --insert query.u8bin --first-key 980 --consolidate --stats");
    assert!(second.contains("20 inserted, 20 were there already") && second.contains("920 live"), "{second}");
    let third = done(here, "update --index index --upsert query.u8bin --first-key 90 --delete 5,999 --stats");
    assert!(third.contains("1 deleted, 1 were not there"), "{third}");
    assert!(
        third.contains("10 inserted, 30 took the place of others") && third.contains("929 live"),
        "{third}"
    );
}

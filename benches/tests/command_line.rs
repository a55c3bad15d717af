//! A whole session on the command line: vectors, truth, index, check, measurement, plot; and what is refused.

mod running;

use running::{done, refused, run};
use std::path::Path;

/// Makes base, queries, truth and index; returns the arguments that name them.
fn prepare(folder: &Path) -> String {
    done(folder, "generate --rows 3000 --dim 24 --queries 80 --type i8 --seed 1 --out .");
    for name in ["base", "query"] {
        std::fs::rename(
            folder.join(format!("synthetic-lowdim-{name}.i8bin")),
            folder.join(format!("{name}.i8bin")),
        )
        .expect("generate has written it");
    }
    done(folder, "ground-truth --base base.i8bin --query query.i8bin --k 20 --out gt.bin --quiet");
    done(
        folder,
        "build-index --data base.i8bin --out index --degree 24 --build-list 40 --pq-bytes 12 --quiet",
    );
    assert!(done(folder, "check-index index").contains("sound"));
    "--index index --query query.i8bin --truth gt.bin --allow-buffered --seconds 0.01".to_owned()
}

fn rows(path: &Path) -> Vec<serde_json::Value> {
    let text = std::fs::read_to_string(path).expect("results were written");
    text.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect()
}

#[test]
fn a_session_from_vectors_to_a_plot() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let files = prepare(here);
    let table = done(
        here,
        &format!("run-bench {files} --list 20,60 --search beam,pipe --engine mmap,pool --out r.jsonl"),
    );
    assert_eq!(table.matches("beam").count(), 4, "{table}");
    let rows = rows(&here.join("r.jsonl"));
    assert_eq!(rows.len(), 8);
    for row in &rows {
        for field in [
            "recall",
            "recall_distance",
            "qps",
            "latency_us_mean",
            "latency_us_p999",
            "reads_per_query",
            "pages_per_query",
            "bytes_per_query",
            "hops_per_query",
            "comparisons_per_query",
            "stall_share",
            "cpu_us_per_query",
            "rss_bytes",
            "device_iops",
            "idle_share",
            "load_average",
        ] {
            assert!(row[field].is_number(), "{field} in {row}");
        }
        for field in ["git", "kernel", "file_system", "cpu_path"] {
            assert!(row[field].as_str().is_some_and(|text| !text.is_empty()), "{field} in {row}");
        }
        assert_eq!((row["rounds"].as_u64(), row["build"]["degree"].as_u64()), (Some(3), Some(24)));
        assert!(row["recall"].as_f64() > Some(if row["list"] == 60 { 0.95 } else { 0.7 }), "{row}");
    }
    done(here, "plot r.jsonl --out figure.svg");
    assert!(std::fs::read_to_string(here.join("figure.svg")).unwrap().contains("<svg"));
}

#[test]
fn queries_that_come_by_themselves_and_expectations() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let files = prepare(here);
    done(here, &format!("run-bench {files} --list 20 --engine mmap --rounds 1 --rate 2000 --out r.jsonl"));
    let row = rows(&here.join("r.jsonl")).remove(0);
    assert_eq!((row["rate"].as_f64(), row["queries"].as_u64()), (Some(2000.0), Some(80)));
    assert!(row["latency_us_mean"].as_f64() > Some(0.0));

    let experiment = "name = \"e\"\nrounds = 1\n[sweep]\nlist = 20\nengine = \"mmap\"\n[[expect]]\n";
    for (recall, met) in [(0.5, true), (1.0, false)] {
        let text = format!("{experiment}recall = {recall}\ntolerance = 0\n");
        std::fs::write(here.join("e.toml"), text).unwrap();
        let line = format!("run-bench e.toml {files}");
        if met {
            assert!(done(here, &line).contains("all 1 expectations are met"));
        } else {
            assert!(refused(here, &line).contains("expectations missed"));
        }
    }
}

#[test]
fn truth_of_other_data_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let files = prepare(here);
    let line = format!("run-bench {files} --list 20 --engine mmap --rounds 1");
    // The truth of other vectors of the same shape.
    std::fs::create_dir(here.join("other")).unwrap();
    done(here, "generate --rows 3000 --dim 24 --queries 80 --type i8 --seed 2 --out other");
    done(
        here,
        "ground-truth --base other/synthetic-lowdim-base.i8bin --query query.i8bin --k 20 --out gt.bin --quiet",
    );
    assert!(refused(here, &line).contains("base hash"));
    std::fs::remove_file(here.join("gt.bin.meta.json")).unwrap();
    let output = run(here, &line);
    assert!(String::from_utf8_lossy(&output.stderr).contains("gt.bin.meta.json is missing"));
    // A truth of rows that the index has not.
    done(here, "generate --rows 4000 --dim 24 --queries 80 --type i8 --seed 2 --out other");
    done(
        here,
        "ground-truth --base other/synthetic-lowdim-base.i8bin --query query.i8bin --k 20 --out gt.bin --quiet",
    );
    assert!(refused(here, &line).contains("no row of a base of 3000 rows"));
}

#[test]
fn presets_run_side_by_side_where_the_index_has_what_they_need() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let files = prepare(here);
    let line =
        format!("run-bench {files} --list 20 --engine mmap --rounds 1 --preset baseline,c2 --out r.jsonl");
    done(here, &line);
    let found = rows(&here.join("r.jsonl"));
    let of = |at: usize, field: &str| found[at][field].as_str().unwrap_or_default().to_owned();
    assert_eq!(
        (of(0, "preset"), of(1, "preset"), of(1, "search")),
        ("baseline".into(), "c2".into(), "pipe".into())
    );
    assert_eq!(
        (of(0, "packing"), of(0, "codes"), of(0, "expansion")),
        ("by-id".into(), "memory".into(), "record".into())
    );
    assert!(
        found[0]["expanded_per_query"].as_f64() > Some(5.0) && found[0]["mean_degree"].as_f64() > Some(4.0)
    );
    assert!(refused(here, &line.replace("c2", "octopusann")).contains("it needs page-shuffle"));
    assert!(refused(here, &line.replace("c2", "c9")).contains("octopusann"));
    done(here, "build-index --preset grip --data base.i8bin --out grip --degree 16 --pq-bytes 12 --quiet");
    done(
        here,
        &line.replace("c2", "grip").replace("--index index", "--index grip").replace("r.jsonl", "g.jsonl"),
    );
    let navigated = rows(&here.join("g.jsonl"));
    assert_eq!(
        (navigated[1]["entry"].as_str(), navigated[1]["build"]["degree"].as_u64()),
        (Some("memgraph:10-2"), Some(16))
    );
    // An axis that is given replaces the preset's.
    let swept = done(here, &format!("{line} --stop exhausted,bound:10 --dry-run"));
    assert_eq!(swept.matches("bound:10").count(), 2, "{swept}");

    let built = "run-bench --data base.i8bin --work w --query query.i8bin --truth gt.bin --list 20 --engine mmap \
                 --rounds 1 --allow-buffered --seconds 0.01 --preset baseline,diskann,octopusann,aisaq,spann --out b.jsonl";
    done(here, built);
    let found = rows(&here.join("b.jsonl"));
    for row in &found {
        assert!(row["recall"].as_f64() > Some(0.7), "{row}");
    }
    let packings: Vec<&str> = found.iter().filter_map(|row| row["packing"].as_str()).collect();
    assert_eq!(packings, ["by-id", "by-id", "page-shuffle", "by-id", "postings"]);
    assert_eq!(std::fs::read_dir(here.join("w")).unwrap().count(), 4, "two presets share an index");
}

#[test]
fn the_study_runs_on_a_sample_and_goes_on_where_it_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let line = "run-bench reproduce io-fig11 --dataset sift-sample --rows 1000 --queries 20 --rounds 1 --seconds 0.001 \
                --allow-buffered --work w --threads 1";
    let first = done(here, line);
    for part in [
        "Baseline",
        "DynamicWidth",
        "sift-sample (the paper's SIFT), 1000 rows",
        "| 5 | Pipeline reads",
        "Findings",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    let points = std::fs::read_to_string(here.join("w/points.jsonl")).unwrap();
    let again = done(here, line);
    assert!(again.contains("Baseline"));
    assert_eq!(std::fs::read_to_string(here.join("w/points.jsonl")).unwrap(), points, "measured again");
    // The same points under another heading.
    done(here, &line.replace("io-fig11", "io-table5"));
    assert_eq!(std::fs::read_to_string(here.join("w/points.jsonl")).unwrap(), points);
    for file in ["io-fig11.md", "findings.md", "measured.toml", "figures/io-fig11-sift-sample.svg"] {
        assert!(here.join("w").join(file).exists(), "{file}");
    }
    let advice = done(here, "advise --data w/sift-sample-1000/missing.u8bin --memory 4GiB --help");
    assert!(advice.contains("--concurrency"));
    assert!(refused(here, "run-bench reproduce io-fig22 --dataset deep96").contains("dataset get deep96"));
    assert!(refused(here, "run-bench reproduce io-fig99").contains("io-fig22"));
}

#[test]
fn advice_is_given_for_a_file_of_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    done(here, "generate --rows 500 --dim 24 --queries 5 --type i8 --seed 1 --out .");
    let line = "advise --data synthetic-lowdim-base.i8bin --rows 100000000 --memory 4GiB --concurrency 4096 --recall 0.9";
    let text = done(here, line);
    assert!(
        text.contains("preset  octopusann") && text.contains("build-index --preset octopusann"),
        "{text}"
    );
    assert!(refused(here, &line.replace("0.9", "95")).contains("--recall"));
}

#[test]
fn postings_take_the_same_verbs() {
    let folder = tempfile::tempdir().unwrap();
    let here = folder.path();
    let files = prepare(here);
    let built =
        done(here, "build-index --data base.i8bin --out spann --spann --posting-pages 1 --replicas 6");
    assert!(built.contains("a vector is in"), "{built}");
    let check = done(here, "check-index spann");
    assert!(check.contains("sound") && check.contains("3000 vectors in"), "{check}");
    let files = files.replace("--index index", "--index spann");
    done(
        here,
        &format!("run-bench {files} --list 32 --search beam,pipe --engine mmap --rounds 1 --out s.jsonl"),
    );
    // A list may be shorter than k: a posting holds many vectors.
    done(here, &format!("run-bench {files} --list 2 --engine mmap --rounds 1 --out two.jsonl"));
    assert_eq!(rows(&here.join("two.jsonl"))[0]["reads_per_query"].as_f64(), Some(2.0));
    for row in rows(&here.join("s.jsonl")) {
        assert!(row["recall"].as_f64() > Some(0.95), "{row}");
        assert_eq!(row["reads_per_query"].as_f64(), Some(32.0));
    }
    let line = "build-index --data base.i8bin --out other";
    for graph_only in ["--degree 24", "--codes off", "--packing by-id", "--mem-graph 0.01"] {
        assert!(refused(here, &format!("{line} --spann {graph_only}")).contains("cannot be used with"));
    }
    assert!(refused(here, &format!("{line} --replicas 6")).contains("--spann"));
    assert!(refused(here, &format!("{line} --preset spann --codes off")).contains("--codes: preset spann"));
    assert!(refused(here, &format!("{line} --preset grip --spann")).contains("preset grip is a graph"));
    let dynamic = format!("run-bench {files} --list 32 --width dynamic --engine mmap --rounds 1");
    assert!(refused(here, &dynamic).contains("give a fixed width"));
}

//! What lies under the index: direct reads where they are possible, a warning where latencies are not those of a
//! disk; and the names of the engines.

#![allow(clippy::unwrap_used)] // the helpers of a test may fail the test

mod support;

use gleann::{Direct, EngineChoice, Index, Metric, OpenOptions, SearchOptions};
use support::{ENGINES, built, built_with, clustered, small_options, watchdog};

#[test]
fn an_index_in_memory_warns_that_it_is_no_disk() {
    let _watchdog = watchdog("tmpfs");
    let Ok(memory) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("no /dev/shm here");
        return;
    };
    let set = built_with(clustered::<u8>(100, 16, 7), small_options(Metric::L2, 16), memory);
    for engine in [EngineChoice::Glommio, EngineChoice::Pool] {
        for direct in [Direct::Require, Direct::Prefer, Direct::Off] {
            let index =
                match Index::open(set.path(), OpenOptions { engine, direct, ..OpenOptions::default() }) {
                    Ok(index) => index,
                    // Kernels before 6.5 refuse O_DIRECT on tmpfs.
                    Err(error) => {
                        let text = error.to_string();
                        assert!(direct == Direct::Require && text.contains("O_DIRECT"), "{text}");
                        continue;
                    }
                };
            let info = index.info();
            assert_eq!((info.file_system.as_str(), info.engine), ("tmpfs", engine));
            if direct == Direct::Off {
                assert!(!info.direct && info.warnings.is_empty());
            } else {
                assert_eq!(info.warnings.len(), 1, "{:?}", info.warnings);
                let warning = &info.warnings[0];
                assert!(warning.contains("graph.gln") && warning.contains("tmpfs"), "{warning}");
                assert!(warning.contains("latencies are"), "{warning}");
            }
            let hits = index.search(set.rows.row(5), 3, &SearchOptions::default()).unwrap().hits;
            set.check_hits(set.rows.row(5), 3, &hits);
            assert_eq!(hits[0].distance, 0.0);
        }
    }
}

#[test]
fn direct_reads_on_a_disk_need_no_warning() {
    let _watchdog = watchdog("disk");
    let set = built::<u8>(Metric::L2, 100, 16);
    for engine in ENGINES {
        let options = OpenOptions { engine, direct: Direct::Require, ..OpenOptions::default() };
        match Index::open(set.path(), options) {
            Ok(index) => {
                let info = index.info();
                // A memory map has no direct reads to require.
                assert_eq!(info.direct, engine != EngineChoice::Mmap);
                assert!(info.warnings.is_empty() || info.file_system == "tmpfs", "{:?}", info.warnings);
            }
            Err(error) => {
                let text = error.to_string();
                assert!(text.contains("graph.gln cannot be read with O_DIRECT"), "{text}");
                eprintln!("no direct reads here: {text}");
            }
        }
    }
}

#[test]
fn engines_are_read_and_written_by_name() {
    for (engine, name) in [
        (EngineChoice::Auto, "auto"),
        (EngineChoice::Glommio, "glommio"),
        (EngineChoice::Pool, "pool"),
        (EngineChoice::Mmap, "mmap"),
    ] {
        assert_eq!(name.parse(), Ok(engine));
        assert_eq!((engine.to_string(), engine.name()), (name.to_owned(), name));
        assert_eq!(serde_json::to_value(engine).unwrap(), name);
        assert_eq!(format!("{engine:>8}|"), format!("{name:>8}|"));
    }
    assert_eq!(
        "uring".parse::<EngineChoice>().unwrap_err(),
        "unknown engine `uring`; expected auto, glommio, pool or mmap"
    );
    assert!("Auto".parse::<EngineChoice>().is_err() && "".parse::<EngineChoice>().is_err());
}

//! Vectors that are replaced one and all: the graph is as good as before.

use crate::model::{BACKENDS, check_hits, made_live, new_vectors, open};
use gleann::{EngineChoice, Index};
use std::fs;

#[test]
fn replacing_every_vector_leaves_a_good_graph() {
    for backend in BACKENDS {
        let (_dir, path, mut model) = made_live::<f32>(2000, backend);
        let index = open(&path);
        let queries = new_vectors::<f32>(50, 5);
        let before = model.recall(&index, &queries);
        for (key, vector) in model.0.clone() {
            model.upsert(&index, key, &vector);
        }
        index.merge().unwrap();
        index.consolidate().unwrap();
        model.check(&index, "all replaced by themselves");
        let after = model.recall(&index, &queries);
        assert!(after >= before - 0.03, "{backend}: recall {before} before, {after} after");
        let hits = index.search(&queries[0], 10, &gleann::SearchOptions::default()).unwrap().hits;
        check_hits(&hits, 10);
    }
}

#[test]
fn a_current_that_names_nothing_costs_nothing() {
    let (_dir, path, model) = made_live::<f32>(300, BACKENDS[0]);
    let names = || {
        let mut names: Vec<_> =
            fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    drop(open(&path));
    let before = names();
    fs::write(path.join("CURRENT"), "gen-000009\n").unwrap();
    let refused = Index::open(&path, crate::model::options(EngineChoice::Pool));
    assert!(refused.is_err());
    fs::remove_file(path.join("CURRENT")).unwrap();
    assert_eq!(names(), before, "nothing was taken away");
    model.check(&open(&path), "as it was");
}

//! The model: which keys there are, and their vectors.

use crate::world::{DIM, search};
use gleann_search::Expansion;
use gleann_storage::Volume;
use gleann_update::Live;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Model(pub BTreeMap<u64, [f32; DIM]>);

impl Model {
    /// Holds the index against the model: every key and nothing else, each vector as it was given, and a search that looks
    /// at everything finds exactly what brute force finds.
    pub fn check(&self, live: &Arc<Live<f32>>, volume: &Arc<dyn Volume>, context: &str) {
        for (&key, vector) in &self.0 {
            let found = live.get(key).unwrap();
            assert_eq!(found.as_deref(), Some(&vector[..]), "{context}: the vector of key {key}");
        }
        for (query, expansion) in
            [([3.0; DIM], Expansion::Record), ([11.0, 2.0, 20.0, 7.0], Expansion::Page { share_pct: 100 })]
        {
            let k = self.0.len() + 3;
            let found = search(live.index(), volume, (&query, k, 1000), expansion);
            assert!(found.windows(2).all(|w| w[0].1 <= w[1].1), "{context}: out of order");
            let mut found: Vec<(u64, f32)> = found;
            found.sort_by_key(|hit| hit.0);
            assert_eq!(found, self.exact(&query), "{context}: everything, {expansion}");
        }
    }

    fn exact(&self, query: &[f32; DIM]) -> Vec<(u64, f32)> {
        let distance = |vector: &[f32; DIM]| query.iter().zip(vector).map(|(a, b)| (a - b) * (a - b)).sum();
        self.0.iter().map(|(&key, vector)| (key, distance(vector))).collect()
    }
}

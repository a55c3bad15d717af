//! The model: which keys there are, and their vectors.

use crate::walk::walk;
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
            let list = 1000.max(live.index().changes.as_ref().unwrap().latest().view.nodes.places());
            let found = search(live.index(), volume, (&query, k, list), expansion);
            assert!(found.windows(2).all(|w| w[0].1 <= w[1].1), "{context}: out of order");
            let mut found: Vec<(u64, f32)> = found;
            found.sort_by_key(|hit| hit.0);
            assert_eq!(found, self.exact(&query), "{context}: everything, {expansion}");
        }
        let walk = walk(live, volume);
        assert!(walk.dangling.is_empty(), "{context}: lists name places that hold nothing");
        assert_eq!(live.figures().live, self.0.len() as u64, "{context}: the number of vectors");
        let buffered = live.is_buffered() || live.has_buffers();
        assert!(buffered || walk.live == self.0.len(), "{context}: {} nodes", walk.live);
    }

    /// Of several models, the place of the one whose keys and vectors the index has.
    pub fn which(models: &[Self], live: &Arc<Live<f32>>, keys: u64, context: &str) -> usize {
        let get =
            |key: u64| live.get(key).unwrap().map(|found| (key, <[f32; DIM]>::try_from(found).unwrap()));
        let found = Self((0..keys).filter_map(get).collect());
        let place = models.iter().position(|model| *model == found);
        place.unwrap_or_else(|| panic!("{context}: found {found:?}, expected one of {models:?}"))
    }

    fn exact(&self, query: &[f32; DIM]) -> Vec<(u64, f32)> {
        let distance = |vector: &[f32; DIM]| query.iter().zip(vector).map(|(a, b)| (a - b) * (a - b)).sum();
        self.0.iter().map(|(&key, vector)| (key, distance(vector))).collect()
    }
}

/// What is sure to be there, and what may be: updates that nobody has been told will last, in order.
#[derive(Debug, Clone, Default)]
pub struct History {
    pub settled: Model,
    pub pending: Vec<(u64, Option<[f32; DIM]>)>,
}

impl History {
    /// What a crash may leave: everything settled, and the first few of the pending updates.
    pub fn possible(&self) -> Vec<Model> {
        let mut models = vec![self.settled.clone()];
        for &(key, vector) in &self.pending {
            let mut model = models[models.len() - 1].clone();
            match vector {
                Some(vector) => model.0.insert(key, vector),
                None => model.0.remove(&key),
            };
            models.push(model);
        }
        models
    }

    /// With everything that is pending.
    pub fn latest(&self) -> Model {
        self.possible().pop().expect("there is the first")
    }

    /// Everything that is pending is sure to be there.
    pub fn settle(&mut self) {
        *self = Self { settled: self.latest(), pending: Vec::new() };
    }

    /// Finds out which of the pending updates an index has kept.
    pub fn decide(&mut self, live: &Arc<Live<f32>>, keys: u64, context: &str) {
        let mut possible = self.possible();
        let which = Model::which(&possible, live, keys, context);
        *self = Self { settled: possible.swap_remove(which), pending: Vec::new() };
    }
}

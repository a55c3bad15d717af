//! An index in memory that measures everything: what the measurements are tested with.

use super::target::{Gauges, LiveTarget, Settling};
use anyhow::Result;
use gleann::{Hit, Key, QueryStats, SearchOptions, SearchResult};
use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

/// Vectors by key.
#[derive(Debug, Default)]
pub struct FakeIndex {
    state: Mutex<State>,
    hidden: Vec<Key>,
}

#[derive(Debug, Default)]
struct State {
    vectors: BTreeMap<Key, Vec<u8>>,
    gauges: Gauges,
}

impl FakeIndex {
    /// An empty one whose searches do not return some keys though they are live.
    pub fn hiding(keys: &[Key]) -> Self {
        Self { hidden: keys.to_vec(), ..Self::default() }
    }

    /// Keys that are live.
    pub fn keys(&self) -> Vec<Key> {
        self.state().vectors.keys().copied().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().expect("no thread of a test has failed")
    }

    fn changed(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        state.gauges.update_cpu_ns += 1000;
        *state.gauges.prune_cpu_ns.get_or_insert(0) += 400;
        state.gauges.backlog += 1;
        state
    }
}

impl LiveTarget<u8> for FakeIndex {
    fn insert(&self, key: Key, vector: &[u8]) -> Result<bool> {
        let mut state = self.changed();
        let is_new = !state.vectors.contains_key(&key);
        if is_new {
            state.vectors.insert(key, vector.to_vec());
        }
        Ok(is_new)
    }

    fn upsert(&self, key: Key, vector: &[u8]) -> Result<bool> {
        Ok(self.changed().vectors.insert(key, vector.to_vec()).is_none())
    }

    fn delete(&self, key: Key) -> Result<bool> {
        Ok(self.changed().vectors.remove(&key).is_some())
    }

    fn settle(&self, settling: Settling) -> Result<()> {
        let mut state = self.state();
        state.gauges.merges += u64::from(settling == Settling::Merge);
        state.gauges.bytes_written += 100 * state.gauges.backlog;
        state.gauges.backlog = 0;
        Ok(())
    }

    fn search(&self, query: &[u8], k: usize, _options: &SearchOptions) -> Result<SearchResult> {
        let state = self.state();
        let distance = |vector: &[u8]| -> f32 {
            vector.iter().zip(query).map(|(&a, &b)| (f32::from(a) - f32::from(b)).powi(2)).sum()
        };
        let visible = state.vectors.iter().filter(|(key, _)| !self.hidden.contains(key));
        let mut hits: Vec<Hit> = visible.map(|(&key, v)| Hit { key, distance: distance(v) }).collect();
        hits.sort_by(|a, b| a.distance.total_cmp(&b.distance).then(a.key.cmp(&b.key)));
        hits.truncate(k);
        let stats =
            QueryStats { reads: 8, hops: 4, latency_ns: 5000, stall_ns: 2000, ..QueryStats::default() };
        Ok(SearchResult { hits, stats })
    }

    fn search_all(&self, queries: &[u8], k: usize, options: &SearchOptions) -> Result<Vec<SearchResult>> {
        let dim = self.state().vectors.values().next().map_or(1, Vec::len);
        queries.chunks(dim).map(|query| self.search(query, k, options)).collect()
    }

    fn gauges(&self) -> Gauges {
        let state = self.state();
        let live = state.vectors.len() as u64;
        Gauges { live, index_bytes: 1000 * live, ..state.gauges }
    }
}

//! The index itself as what is measured.

use super::target::{Gauges, LiveTarget, Settling};
use anyhow::Result;
use gleann::{Delete, Element, Index, Insert, Key, SearchOptions, SearchResult, Upsert};

impl<T: Element> LiveTarget<T> for Index {
    fn insert(&self, key: Key, vector: &[T]) -> Result<bool> {
        Ok(Index::insert(self, key, vector)? == Insert::Inserted)
    }

    fn upsert(&self, key: Key, vector: &[T]) -> Result<bool> {
        Ok(Index::upsert(self, key, vector)? == Upsert::Inserted)
    }

    fn delete(&self, key: Key) -> Result<bool> {
        Ok(Index::delete(self, key)? == Delete::Deleted)
    }

    fn settle(&self, settling: Settling) -> Result<()> {
        match settling {
            Settling::Merge => self.merge()?,
            Settling::Consolidate => self.consolidate()?,
        }
        Ok(())
    }

    fn search(&self, query: &[T], k: usize, options: &SearchOptions) -> Result<SearchResult> {
        Ok(Index::search(self, query, k, options)?)
    }

    fn search_all(&self, queries: &[T], k: usize, options: &SearchOptions) -> Result<Vec<SearchResult>> {
        Ok(self.search_batch(queries, k, options).into_iter().collect::<Result<_, _>>()?)
    }

    fn gauges(&self) -> Gauges {
        let idle_ns = self.idle_ns().iter().sum();
        let Some(stats) = self.live_stats() else {
            let info = self.info();
            return Gauges {
                live: info.nodes,
                memory_bytes: info.memory_bytes,
                idle_ns,
                ..Gauges::default()
            };
        };
        Gauges {
            live: stats.live,
            dead: stats.dead,
            free: stats.free,
            backlog: stats.backlog,
            index_bytes: stats.index_bytes + stats.log_bytes,
            memory_bytes: stats.memory_bytes,
            overlap_ratio: Some(stats.overlap_ratio),
            bytes_written: stats.bytes_written,
            update_cpu_ns: stats.update_cpu_ns,
            prune_cpu_ns: stats.prune_cpu_ns,
            merges: stats.merges,
            idle_ns,
        }
    }
}

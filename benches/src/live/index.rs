//! The index itself as what is measured.

use super::target::{Gauges, LiveTarget, Settling};
use anyhow::Result;
use gleann::{Delete, Element, Index, Insert, Key, SearchOptions, SearchResult, TracePoint, Upsert};

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

    fn tuner_trace(&self) -> Vec<TracePoint> {
        Index::tuner_trace(self)
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
        let figures = stats.figures;
        Gauges {
            live: figures.live,
            dead: figures.dead,
            free: figures.free,
            backlog: figures.pending,
            index_bytes: figures.index_bytes + figures.log_bytes,
            memory_bytes: figures.memory_bytes,
            overlap_ratio: None,
            bytes_written: figures.bytes_written,
            update_cpu_ns: stats.update_cpu_ns,
            prune_cpu_ns: Some(figures.prune_ns),
            merges: figures.checkpoints,
            idle_ns,
            lios: stats.lios,
            queued: stats.queued,
        }
    }
}

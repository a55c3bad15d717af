"""hnswlib: the graph in memory with full vectors, as a reference for what no disk costs."""

import os

import numpy as np

import harness


class Hnsw:
    name, search, engine, direct = "hnswlib", "hnsw", "memory", None

    def build(self, args):
        import hnswlib

        base = harness.read_vectors(args.base)
        index = hnswlib.Index(space="l2", dim=base.shape[1])
        # M links a node on the upper layers, 2 M on the lowest: the same degree as the disk graphs.
        index.init_index(max_elements=len(base), M=args.degree // 2, ef_construction=args.build_list)
        index.set_num_threads(args.threads)
        for start in range(0, len(base), 100_000):
            block = base[start : start + 100_000].astype(np.float32)
            index.add_items(block, np.arange(start, start + len(block)))
        index.save_index(os.path.join(args.dir, "hnsw.bin"))

    def open(self, args):
        import hnswlib

        base = harness.read_vectors(args.base)
        self.index = hnswlib.Index(space="l2", dim=base.shape[1])
        self.index.load_index(os.path.join(args.dir, "hnsw.bin"))

    def batch(self, queries, k, length, threads):
        self.index.set_ef(length)
        return self.index.knn_query(queries.astype(np.float32), k, num_threads=threads)[0]

    def single(self, query, k, length):
        self.index.set_ef(length)
        return self.index.knn_query(query.astype(np.float32)[None], k, num_threads=1)[0][0]


if __name__ == "__main__":
    harness.main(Hnsw())

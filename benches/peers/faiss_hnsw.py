"""faiss: HNSW over 8-bit scalar-quantised vectors in memory, as a reference."""

import os

import numpy as np

import harness


class FaissHnsw:
    name, search, engine, direct = "faiss", "hnsw-sq8", "memory", None

    def build(self, args):
        import faiss

        faiss.omp_set_num_threads(args.threads)
        base = harness.read_vectors(args.base)
        # Bytes are stored as they are: nothing is lost by quantising them. Floats get trained ranges.
        kinds = faiss.ScalarQuantizer
        kind = kinds.QT_8bit_direct if base.dtype == np.uint8 else kinds.QT_8bit
        index = faiss.IndexHNSWSQ(base.shape[1], kind, args.degree // 2)
        index.hnsw.efConstruction = args.build_list
        index.train(base[: min(len(base), 100_000)].astype(np.float32))
        for start in range(0, len(base), 100_000):
            index.add(base[start : start + 100_000].astype(np.float32))
        faiss.write_index(index, os.path.join(args.dir, "hnsw.faiss"))

    def open(self, args):
        import faiss

        faiss.omp_set_num_threads(args.threads)
        self.index = faiss.read_index(os.path.join(args.dir, "hnsw.faiss"))

    def batch(self, queries, k, length, threads):
        self.index.hnsw.efSearch = length
        return self.index.search(queries.astype(np.float32), k)[1]

    def single(self, query, k, length):
        self.index.hnsw.efSearch = length
        return self.index.search(query.astype(np.float32)[None], k)[1][0]


if __name__ == "__main__":
    harness.main(FaissHnsw())

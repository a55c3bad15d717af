"""DiskANN, the C++ disk index, through diskannpy."""

import numpy as np

import harness


class DiskAnn:
    name, search, engine, direct = "diskannpy", "beam", "libaio", True

    def build(self, args):
        import diskannpy

        base = harness.read_vectors(args.base)
        # The code length is floor(budget / rows); half a byte a row keeps rounding from taking one away.
        budget = (args.pq_bytes + 0.5) * len(base) / 2**30
        diskannpy.build_disk_index(
            data=args.base, distance_metric="l2", index_directory=args.dir, complexity=args.build_list,
            graph_degree=args.degree, search_memory_maximum=budget, build_memory_maximum=64.0,
            num_threads=args.threads, pq_disk_bytes=0, vector_dtype=base.dtype.type, index_prefix="ann",
        )

    def open(self, args):
        import diskannpy

        # Loading with one thread hangs, whatever is searched with later.
        self.index = diskannpy.StaticDiskIndex(
            index_directory=args.dir, num_threads=max(4, args.threads), num_nodes_to_cache=0, cache_mechanism=0,
            distance_metric="l2", vector_dtype=harness.read_vectors(args.base).dtype.type, index_prefix="ann",
        )
        self.width = args.width

    def batch(self, queries, k, length, threads):
        return self.index.batch_search(queries, k, length, threads, self.width).identifiers

    def single(self, query, k, length):
        return np.asarray(self.index.search(query, k, length, self.width).identifiers)


if __name__ == "__main__":
    harness.main(DiskAnn())

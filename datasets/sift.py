"""SIFT descriptors of real pictures, 128-d uint8: a SIFT1M-like set.

Sources, licences: see pictures.py (pictures from Debian and npm packages). SIFT is OpenCV's (Apache-2.0).
Makes          : OUT/sift128 base.u8bin 1,000,000 x 128, query.u8bin about 9,080 x 128 (10,000 less those that
                 are also base rows).
                 Pictures scaled to at most 1600 px a side, DoG keypoints, up to 6,000 a picture by response.
                 As in SIFT1M, queries come from pictures that give no base row; rows are unique and shuffled.
Needs          : apt-get, dpkg-deb, npm; pip: numpy opencv-python-headless
Usage          : python sift.py OUT [--cache DIR]
"""
import argparse
import os

import cv2
import numpy as np

import pictures
import vectors

ROWS, QUERIES, MAX_A_PICTURE, MAX_SIDE = 1000000, 10000, 6000, 1600


def detector(most):
    return cv2.SIFT_create(nfeatures=most, contrastThreshold=0.02, edgeThreshold=12)


def descriptors(sift, picture, most):
    """Up to `most` descriptors of a BGR picture, strongest response first: n x 128 uint8."""
    _, found = sift.detectAndCompute(cv2.cvtColor(picture, cv2.COLOR_BGR2GRAY), None)
    if found is None:
        return np.empty((0, 128), np.uint8)
    return np.clip(found[:most], 0, 255).astype(np.uint8)


def draw(parts, rows, seed):
    """`rows` distinct rows of `parts`, in an order that depends on the content and the seed only."""
    rows_of_all = np.vstack(parts)
    distinct = np.unique(np.ascontiguousarray(rows_of_all).view("V128").ravel()).view(np.uint8).reshape(-1, 128)
    print("distinct descriptors: %d of %d" % (len(distinct), len(rows_of_all)), flush=True)
    return distinct[np.random.default_rng(seed).permutation(len(distinct))[:rows]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--cache")
    args = parser.parse_args()
    out = os.path.join(args.out, "sift128")
    if vectors.is_published(out):
        print("already made: %s" % out)
        return
    sift = detector(MAX_A_PICTURE)
    base, query, seen = [], [], {}
    for group, package, relative, path in pictures.listing(args.cache or os.path.join(args.out, ".cache")):
        picture = pictures.load(path, MAX_SIDE)
        if picture is None:
            continue
        found = descriptors(sift, picture, MAX_A_PICTURE)
        (query if pictures.is_held_out(package, relative) else base).append(found)
        count = seen.setdefault((group, package), [0, 0])
        count[0] += 1
        count[1] += len(found)
        if count[0] % 50 == 0:
            print("%s: %d pictures, %d descriptors" % (package, count[0], count[1]), flush=True)
    sources = ["%s\t%s\t%d pictures\t%d descriptors" % (key + tuple(count)) for key, count in sorted(seen.items())]
    base, query = draw(base, ROWS, 1), draw(query, QUERIES, 2)
    vectors.publish(out, base, query[vectors.without_base_rows(query, base)], {"sources.tsv": sources})


if __name__ == "__main__":
    main()

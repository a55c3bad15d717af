"""GIST descriptors of real picture crops, 960-d float32: a GIST1M-like set.

Sources, licences: see pictures.py.
Makes          : OUT/gist960 base.fbin about 192,700 x 960 (of 206,000 crops), query.fbin about 990 x 960.
                 Oliva and Torralba's descriptor as in GIST1M: 3 colour channels x 20 Gabor filters (8, 8 and 4
                 orientations at 3 scales) x a 4x4 grid of mean filter energy, on a picture of 32x32 after their
                 local contrast prefilter. Crops: random squares of 48 px to the whole shorter side,
                 log-uniform in size, more from larger pictures. Queries come from pictures that give no base row.
Needs          : apt-get, dpkg-deb, npm; pip: numpy scipy opencv-python-headless
Usage          : python gist.py OUT [--cache DIR] [--threads 2]
"""
import argparse
import os
from concurrent.futures import ThreadPoolExecutor

import cv2
import numpy as np
import scipy.fft

import pictures
import vectors

ROWS, QUERIES = 200000, 1000
CROPS = {False: int(ROWS * 1.03), True: 1200}  # aims, with and without held-out pictures
SIDE, BORDER = 32, 8  # a 32x32 picture with a mirrored border: FFT of 48x48
FULL = SIDE + 2 * BORDER
MAX_SIDE, MIN_CROP, MIN_CONTRAST, WEIGHT_CAP = 2048, 48, 6, 12000


def gabors():
    """Oliva and Torralba's filters, (8, 8, 4) orientations per scale, in the frequency domain."""
    fx, fy = np.meshgrid(np.arange(FULL) - FULL // 2, np.arange(FULL) - FULL // 2)
    radius = np.fft.fftshift(np.hypot(fx, fy))
    angle = np.fft.fftshift(np.arctan2(fy, fx))
    filters = []
    for scale, count in enumerate((8, 8, 4)):
        centre, sharpness = 0.3 / 1.85 ** scale, 16 * count ** 2 / 32 ** 2
        for i in range(count):
            turned = angle + np.pi / count * i
            turned = turned + 2 * np.pi * (turned < -np.pi) - 2 * np.pi * (turned > np.pi)
            filters.append(np.exp(-10 * 0.35 * (radius / FULL / centre - 1) ** 2 - 2 * sharpness * np.pi * turned ** 2))
    return np.array(filters, np.float32)


def low_pass():
    """The prefilter's low-pass, 4 cycles a picture."""
    fx, fy = np.meshgrid(np.fft.fftfreq(FULL) * FULL, np.fft.fftfreq(FULL) * FULL)
    return np.exp(-(fx ** 2 + fy ** 2) / (4 / np.sqrt(np.log(2))) ** 2).astype(np.float32)


GABORS, LOW_PASS = gabors(), low_pass()


def mirror(x):
    return np.pad(x, ((0, 0), (0, 0), (BORDER, BORDER), (BORDER, BORDER)), "symmetric")


def inner(x):
    return x[:, :, BORDER:-BORDER, BORDER:-BORDER]


def describe(crops):
    """(n, 32, 32, 3) uint8 -> (n, 960) float32."""
    x = mirror(np.log1p(crops.astype(np.float32).transpose(0, 3, 1, 2)))
    x = x - scipy.fft.ifft2(scipy.fft.fft2(x) * LOW_PASS).real
    energy = x.mean(1, keepdims=True) ** 2
    x = x / (0.2 + np.sqrt(np.abs(scipy.fft.ifft2(scipy.fft.fft2(energy) * LOW_PASS).real)))
    spectrum = scipy.fft.fft2(mirror(inner(x).astype(np.float32)))
    out = np.empty((len(x), 3, len(GABORS), 16), np.float32)
    for i, gabor in enumerate(GABORS):
        y = inner(np.abs(scipy.fft.ifft2(spectrum * gabor)))
        out[:, :, i] = y.reshape(len(x), 3, 4, 8, 4, 8).mean((3, 5)).reshape(len(x), 3, 16)
    return out.reshape(len(x), -1)


def random_crops(picture, count, rng):
    height, width = picture.shape[:2]
    crops = np.empty((count, SIDE, SIDE, 3), np.uint8)
    for j in range(count):
        s = int(MIN_CROP * (min(height, width) / MIN_CROP) ** rng.random())
        y, x = rng.integers(0, height - s + 1), rng.integers(0, width - s + 1)
        crops[j] = cv2.resize(picture[y:y + s, x:x + s], (SIDE, SIDE), interpolation=cv2.INTER_AREA)
    return crops[crops.reshape(count, -1).std(1) > MIN_CONTRAST]  # flat crops say nothing


def descriptors(job):
    index, path, count = job
    picture = pictures.load(path, MAX_SIDE)
    if picture is None:
        return np.empty((0, 960), np.float32)
    crops = random_crops(picture, count, np.random.default_rng([960, index]))
    blocks = [describe(crops[b:b + 64]) for b in range(0, len(crops), 64)]
    return np.vstack(blocks) if blocks else np.empty((0, 960), np.float32)


def jobs(cache):
    """[(index, path, crops wanted)], and whether each picture is held out."""
    sized = []
    for _, package, relative, path in pictures.listing(cache):
        small = cv2.imread(path, cv2.IMREAD_REDUCED_GRAYSCALE_8)
        if small is not None and min(small.shape) >= 8:
            weight = min(small.shape[0] * small.shape[1], WEIGHT_CAP) ** 0.5
            sized.append((weight, pictures.is_held_out(package, relative), path))
    total = {asks: sum(w for w, held_out, _ in sized if held_out == asks) for asks in CROPS}
    return ([(i, path, int(np.ceil(CROPS[asks] * w / total[asks]))) for i, (w, asks, path) in enumerate(sized)],
            [asks for _, asks, _ in sized])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--cache")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    out = os.path.join(args.out, "gist960")
    if vectors.is_published(out):
        print("already made: %s" % out)
        return
    todo, asks = jobs(args.cache or os.path.join(args.out, ".cache"))
    base, query = [], []
    with ThreadPoolExecutor(args.threads) as pool:
        for i, found in enumerate(pool.map(descriptors, todo)):
            (query if asks[i] else base).append(found)
            if i % 100 == 0:
                print("picture %d of %d, %d base rows" % (i, len(todo), sum(map(len, base))), flush=True)
    rng = np.random.default_rng(961)
    base, query = np.vstack(base), np.vstack(query)
    base = base[rng.permutation(len(base))[:ROWS]]
    query = query[rng.permutation(len(query))[:QUERIES]]
    vectors.publish(out, base, query[vectors.without_base_rows(query, base)])


if __name__ == "__main__":
    main()

"""The sample that lives in the repository: datasets/sample/{sift,glove}. Kept to show how it was made.

sift  : u8 x 128, OpenCV's SIFT (Apache-2.0) on the pictures listed in SIFT_PICTURES, all under CC0, CC-BY, BSD,
        Apache or MIT licences. Up to 900 descriptors a picture by response. Queries come from the pictures of
        QUERY_PICTURES, which give no base row; rows are unique and shuffled.
glove : f32 x 100, the 5,200 most frequent alphabetic words of GloVe 6B (PDDL 1.0), L2-normalised; 200 of them,
        drawn at random, are the queries. words.txt: base words, then query words.
Needs : apt-get, dpkg-deb, npm; pip: numpy opencv-python-headless
Usage : python make_sample.py OUT [--cache DIR]      (writes OUT/sift, OUT/glove)
Another CPU may round a few descriptors differently; the files in the repository are the reference.
"""
import argparse
import os

import numpy as np

import glove
import packages
import pictures
import sift
import vectors

SIFT_ROWS, SIFT_QUERIES, MAX_A_PICTURE, MAX_SIDE = 20000, 500, 900, 1600
GLOVE_ROWS, GLOVE_QUERIES = 5000, 200
LOMIRI = "usr/share/backgrounds/"
OPENCV = "usr/share/doc/opencv-doc/examples/data/"
# (kind, package, version, licence, pictures)
SIFT_PICTURES = [
    ("deb", "lomiri-wallpapers-16.04", None, "CC0-1.0 (Clemens Engelhardt)",
     [LOMIRI + "seeding_by_Clements_Engelhardt.jpg"]),
    ("deb", "lomiri-wallpapers-16.04", None, "CC-BY-4.0 (Aitzol Berasategi)",
     [LOMIRI + n + "_by_Aitzol_Berasategi.jpg" for n in ("aitzgorri", "friends", "life", "picosdeeuropa", "sunset")]),
    ("deb", "lomiri-wallpapers-16.04", None, "CC-BY-4.0 (Jakub Mede)", [LOMIRI + "Wine_by_Jakkub_Mede.jpg"]),
    ("deb", "opencv-doc", None, "Apache-2.0 AND BSD-3-Clause (OpenCV contributors)",
     [OPENCV + n for n in ("apple.jpg", "board.jpg", "box.png", "box_in_scene.png", "cards.png", "home.jpg",
                           "licenseplate_motion.jpg", "orange.jpg", "smarties.png", "squirrel_cls.jpg", "stuff.jpg")]),
    ("npm", "startbootstrap-creative", "7.0.7", "MIT (Start Bootstrap LLC)",
     ["package/src/assets/img/bg-masthead.jpg"]
     + ["package/src/assets/img/portfolio/fullsize/%d.jpg" % n for n in range(1, 7)]),
    ("npm", "material-kit", "2.0.4", "MIT (Creative Tim)",
     ["package/assets/img/%s.jpg" % n for n in
      ("bg", "bg2", "bg3", "bg7", "city-profile", "city", "landing", "profile_city",
       "examples/clem-onojegaw", "examples/clem-onojeghuo", "examples/cynthia-del-rio", "examples/mariya-georgieva",
       "examples/olu-eletu", "examples/studio-1", "examples/studio-2", "examples/studio-3", "examples/studio-4",
       "examples/studio-5")]),
    ("npm", "@creative-tim-official/argon-dashboard", "2.0.4", "MIT (Creative Tim)",
     ["package/assets/img/%s.jpg" % n for n in
      ("bg-profile", "bg1", "carousel-1", "home-decor-1", "home-decor-2", "home-decor-3", "vr-bg")]),
]
QUERY_PICTURES = {
    "friends_by_Aitzol_Berasategi.jpg", "Wine_by_Jakkub_Mede.jpg", "stuff.jpg", "home.jpg", "fullsize/3.jpg",
    "examples/olu-eletu.jpg", "examples/studio-2.jpg", "home-decor-2.jpg",
}


def sift_sample(out, cache):
    detector = sift.detector(MAX_A_PICTURE)
    base, query, sources = [], [], []
    for kind, package, version, licence, names in SIFT_PICTURES:
        root = packages.fetch(kind, package, version, cache)
        for name in names:
            picture = pictures.load(os.path.join(root, name), MAX_SIDE)
            if picture is None:
                raise SystemExit("error: %s of package %s is missing or too small" % (name, package))
            found = sift.descriptors(detector, picture, MAX_A_PICTURE)
            asks = any(name.endswith(n) for n in QUERY_PICTURES)
            (query if asks else base).append(found)
            sources.append("\t".join(["query" if asks else "base", package + (" " + version if version else ""),
                                      name, licence, "%d descriptors" % len(found)]))
    base, query = sift.draw(base, SIFT_ROWS, 1), sift.draw(query, 2 * SIFT_QUERIES, 2)
    query = query[vectors.without_base_rows(query, base)][:SIFT_QUERIES]
    vectors.publish(out, base, query, {"sources.tsv": sources})


def glove_sample(out, cache):
    words, rows = glove.load(cache)
    common = [i for i, word in enumerate(words) if word.isascii() and word.isalpha()][:GLOVE_ROWS + GLOVE_QUERIES]
    drawn = np.random.default_rng(100).permutation(len(common))
    query, base = np.sort(drawn[:GLOVE_QUERIES]), np.sort(drawn[GLOVE_QUERIES:])
    order = [common[i] for i in np.concatenate([base, query])]
    vectors.publish(out, rows[order[:GLOVE_ROWS]], rows[order[GLOVE_ROWS:]], {"words.txt": [words[i] for i in order]})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out")
    parser.add_argument("--cache")
    args = parser.parse_args()
    cache = args.cache or os.path.join(args.out, ".cache")
    sift_sample(os.path.join(args.out, "sift"), cache)
    glove_sample(os.path.join(args.out, "glove"), cache)


if __name__ == "__main__":
    main()

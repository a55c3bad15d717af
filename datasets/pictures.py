"""Real pictures shipped in packages, for the image sets (sift, deep, gist).

Photographs and scanned paintings (group "photo"):
  deb lomiri-wallpapers-16.04, lomiri-wallpapers-20.04    CC-BY-4.0, CC-BY-SA-3.0/4.0, CC0
  deb mate-backgrounds (nature/)                          GPL-2+, CC-BY-SA-4.0
  deb plasma-workspace-wallpapers (the photographs)       GPL-2+/LGPL-3 (see the package's copyright file)
  deb palapeli-data (its jigsaw pictures)                 GPL-2+, CC0, GFDL
  deb opencv-doc (sample photographs)                     BSD-3-Clause / Apache-2.0
  deb tuxpaint-stamps-default (photo cut-outs > 60 kB)    GPL-2+ and free licences, see its copyright file
  deb wordpress-theme-twentytwentyone (paintings)         GPL-2+ (public-domain paintings)
  deb stellarium-data (photographic panoramas)            GPL-2+
  npm material-kit 2.0.4, startbootstrap-creative 7.0.7, @creative-tim-official/argon-dashboard 2.0.4   MIT packages
Photographic textures (group "texture"; .jpg without normal, gloss, bump and glow maps):
  deb supertuxkart-data                                   GPL-3+, CC-BY-SA-3.0, CC0
  deb nexuiz-textures                                     GPL-2
Only descriptors go into the sets, no picture. Debian packages are taken as the release in use ships them,
so another release may give other counts; the npm ones are pinned.
"""
import fnmatch
import hashlib
import os
import re
import zipfile
import zlib

import cv2
import numpy as np

import packages

cv2.setNumThreads(1)
OPENCV = "usr/share/doc/opencv-doc/examples/"
PLASMA = ("Autumn", "BytheWater", "ColdRipple", "ColorfulCups", "EveningGlow", "FallenLeaf", "Grey", "Kite",
          "OneStandsOut", "Path", "summer_1am")
STELLARIUM = ("guereins", "garching", "hurricane", "grossmugl", "trees", "mars", "moon")
NOT_PHOTOS = ("ela_", "ellipses", "pca_test", "pic?.png", "digits", "sudoku", "chicky", "chessboard", "gradient",
              "imageText", "ml.png", "detect_blob", "H?to?p")
NOT_PHOTOS_ANYWHERE = ("logo", "segmented", "mask", "aloeGT", "text_defocus", "left", "right")

# (kind, package, version, patterns of pictures, patterns of exceptions)
PHOTO = [
    ("deb", "lomiri-wallpapers-16.04", None, ["*.jpg"], ["*analogpattern*", "*Picture_?[AB]_*"]),
    ("deb", "lomiri-wallpapers-20.04", None, ["*Kleiber*.jpg"], []),
    ("deb", "mate-backgrounds", None, ["*/nature/*.jpg"], []),
    ("deb", "plasma-workspace-wallpapers", None,
     ["*/%s/contents/images/2560x1600.jpg" % n for n in PLASMA] + ["*/Volna/contents/images/5120x2880.jpg"], []),
    ("deb", "palapeli-data", None, ["*/collection/*.jpg"], []),
    ("deb", "opencv-doc", None,
     [OPENCV + "*.jpg", OPENCV + "data/*.png", OPENCV + "reg/*.png", OPENCV + "dnn_superres/*.png",
      OPENCV + "ximgproc/stanford.png"],
     ["*/%s" % n if "." in n else "*/%s*" % n for n in NOT_PHOTOS] + ["*%s*" % n for n in NOT_PHOTOS_ANYWHERE]),
    ("deb", "tuxpaint-stamps-default", None, ["*/stamps/*.png"], ["*_mirror.png", "*/cartoon/*"]),
    ("deb", "wordpress-theme-twentytwentyone", None, ["*/assets/images/*.jpg"], []),
    ("deb", "stellarium-data", None, ["*/landscapes/%s/*.png" % n for n in STELLARIUM], []),
    ("npm", "material-kit", "2.0.4", ["*/assets/img/*.jpg"], []),
    ("npm", "startbootstrap-creative", "7.0.7", ["*/src/assets/img/*.jpg"], ["*/thumbnails/*"]),
    ("npm", "@creative-tim-official/argon-dashboard", "2.0.4", ["*/assets/img/*.jpg"], ["*/curved-images/*"]),
]
TEXTURE = [
    ("deb", "supertuxkart-data", None, ["*.jpg"], []),
    ("deb", "nexuiz-textures", None, ["*.jpg"], []),
]
MAPS = re.compile(r"norm|gloss|spec|bump|glow|_nm|emit|lightmap|shirt|pants|_local|reflect", re.I)
MIN_BYTES = {"photo": 20000, "tuxpaint-stamps-default": 60000, "texture": 30000}
MIN_SIDE = 64


def matches(relative, patterns):
    return any(fnmatch.fnmatch(relative, pattern) for pattern in patterns)


def _unpack_textures(root):
    """Nexuiz keeps its textures in a zip inside the package."""
    inner = os.path.join(root, "usr/share/games/nexuiz/data/textures.pk3")
    if os.path.exists(inner):
        with zipfile.ZipFile(inner) as z:
            z.extractall(os.path.join(root, "pk3"), [m for m in z.namelist() if m.endswith(".jpg")])
        os.remove(inner)


def _candidates(cache):
    for group, specs in (("photo", PHOTO), ("texture", TEXTURE)):
        for kind, name, version, wanted, unwanted in specs:
            root = packages.fetch(kind, name, version, cache)
            _unpack_textures(root)
            least = MIN_BYTES.get(name, MIN_BYTES[group])
            for folder, _, files in os.walk(root):
                for file in files:
                    path = os.path.join(folder, file)
                    relative = os.path.relpath(path, root)
                    if not matches(relative, wanted) or matches(relative, unwanted):
                        continue
                    if os.path.islink(path) or os.path.getsize(path) < least:
                        continue
                    if group == "texture" and MAPS.search(file):
                        continue
                    yield group, name, relative, path


def listing(cache):
    """[(group, package, path in the package, path on disk)] of every picture, sorted; a file held twice counts once."""
    seen, kept = set(), []
    for entry in sorted(_candidates(cache), key=lambda e: e[:3]):
        with open(entry[3], "rb") as f:
            sum32 = zlib.crc32(f.read())
        if sum32 not in seen:
            seen.add(sum32)
            kept.append(entry)
    return kept


def is_held_out(package, relative):
    """About one picture in 16 gives queries only."""
    return int(hashlib.md5((package + "/" + relative).encode()).hexdigest()[:8], 16) % 16 == 0


def load(path, max_side):
    """The picture as BGR bytes, at most `max_side` a side; None if it cannot be read or is too small."""
    picture = cv2.imread(path, cv2.IMREAD_UNCHANGED)
    if picture is None:
        return None
    if picture.dtype != np.uint8:
        picture = (picture / 257).astype(np.uint8)
    if picture.ndim == 2:
        picture = cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR)
    if picture.shape[2] == 4:  # cut-outs: put on mid grey
        alpha = picture[..., 3:].astype(np.float32) / 255
        picture = (picture[..., :3] * alpha + 128 * (1 - alpha)).astype(np.uint8)
    scale = max_side / max(picture.shape[:2])
    if scale < 1:
        size = (max(1, round(picture.shape[1] * scale)), max(1, round(picture.shape[0] * scale)))
        picture = cv2.resize(picture, size, interpolation=cv2.INTER_AREA)
    return picture if min(picture.shape[:2]) >= MIN_SIDE else None

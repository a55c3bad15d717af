"""Resumable transfers over HTTP(S) and FTP, with the Python standard library only.

A transfer writes NAME.part beside its destination and NAME.part.json with what the part belongs to. Stopped at any
byte, it goes on from there when it is asked for again; a file under its final name is always complete.
"""
import ftplib
import hashlib
import http.client
import json
import os
import re
import shutil
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

CHUNK = 1 << 20
TIMEOUT_S = 30


class TransferError(Exception):
    """What went wrong, and what to do about it."""


class Unreachable(TransferError):
    """No address of the file could be reached."""


class _Interrupted(Exception):
    """The connection failed in a way that may pass."""


class Progress:
    """One line on a terminal, a line every ten seconds elsewhere."""

    def __init__(self, name, total, have):
        self.name, self.total, self.first, self.terminal = name, total, have, sys.stderr.isatty()
        self.started = self.shown = time.monotonic()

    def show(self, have, last=False):
        now = time.monotonic()
        if not last and now - self.shown < (0.5 if self.terminal else 10):
            return
        self.shown = now
        rate = (have - self.first) / max(now - self.started, 1e-3)
        left = (self.total - have) / rate if rate > 0 else 0
        line = "%s: %3.0f %%, %.1f of %.1f MB, %.1f MB/s, %d s left" % (
            self.name, 100 * have / self.total, have / 1e6, self.total / 1e6, rate / 1e6, left)
        end = "\n" if last or not self.terminal else ""
        print(("\r" if self.terminal else "") + line + end, end="", file=sys.stderr, flush=True)


class _HttpStream:
    """Bytes `start` to `end` (exclusive) of an address; `start` is 0 if the server could not continue there."""

    def __init__(self, url, start, end, tag):
        headers = {"User-Agent": "gleann-datasets", "Range": "bytes=%d-%d" % (start, end - 1)}
        if start and tag:
            headers["If-Range"] = tag
        try:
            self.response = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=TIMEOUT_S)
        except urllib.error.HTTPError as e:
            if e.code == 416:
                raise TransferError("%s has fewer than %d bytes: the file there is not the one expected" % (url, end))
            if e.code >= 500 or e.code == 429:
                raise _Interrupted("%s answered %d %s" % (url, e.code, e.reason))
            raise TransferError("%s answered %d %s" % (url, e.code, e.reason))
        length = self.response.headers.get("Content-Length")
        self.start, self.total = 0, int(length) if length else None
        if self.response.status == 206:
            found = re.match(r"bytes (\d+)-\d+/(\d+|\*)", self.response.headers.get("Content-Range", ""))
            if not found or int(found[1]) != start:
                raise TransferError("%s answered a range that was not asked for" % url)
            self.start, self.total = start, None if found[2] == "*" else int(found[2])
        strong = self.response.headers.get("ETag", "")
        self.tag = strong if strong and not strong.startswith("W/") else self.response.headers.get("Last-Modified")

    def read(self):
        return self.response.read(CHUNK)

    def close(self):
        self.response.close()


class _FtpStream:
    """The same over FTP, from `start` on."""

    def __init__(self, url, start):
        place = urllib.parse.urlsplit(url)
        self.client = ftplib.FTP(timeout=TIMEOUT_S)
        self.client.connect(place.hostname, place.port or 21)
        self.client.login()
        self.client.voidcmd("TYPE I")
        self.total = self.client.size(place.path)
        self.socket, _ = self.client.ntransfercmd("RETR " + place.path, rest=start or None)
        self.start, self.tag = start, None

    def read(self):
        return self.socket.recv(CHUNK)

    def close(self):
        self.socket.close()
        self.client.close()


def _open(url, start, end, tag):
    try:
        return _FtpStream(url, start) if url.startswith("ftp:") else _HttpStream(url, start, end, tag)
    except ftplib.error_perm as e:
        raise TransferError("%s answered: %s" % (url, e))
    except (OSError, EOFError, http.client.HTTPException, ftplib.Error) as e:  # URLError is an OSError
        raise _Interrupted("cannot reach %s: %s" % (urllib.parse.urlsplit(url).hostname, getattr(e, "reason", e)))


class Transfer:
    """The first `length` bytes of a file of `total` bytes that lies at any of `urls`, into `path`.

    `head(bytes)` may check the first eight bytes as soon as they are there and raise TransferError."""

    def __init__(self, urls, path, length, total, head=None):
        self.urls, self.path, self.length, self.total, self.head = urls, path, length, total, head
        self.part, self.note = path + ".part", path + ".part.json"

    def run(self, tries=3, pause_s=1):
        """Brings the part to its full length; returns its path. The caller checks it and then calls `finish`.

        Gives up after `tries` rounds over the addresses that brought nothing, `pause_s`, 2 `pause_s`, … apart."""
        self._drop_foreign_part()
        self._check_room()
        failures, have = 0, self._have()
        while have < self.length:
            url = self.urls[failures % len(self.urls)]
            try:
                self._continue(url, have)
            except _Interrupted as e:
                reason = e
            else:
                reason = "%s ended early" % url
            before, have = have, self._have()
            if have >= self.length:
                break
            failures = 1 if have > before else failures + 1
            if failures >= tries * len(self.urls):
                raise self._unreachable(reason, have)
            if failures % len(self.urls) == 0:
                time.sleep(pause_s * 2 ** (failures // len(self.urls) - 1))
        self._check_head()
        return self.part

    def finish(self):
        """Gives the checked part its final name."""
        os.replace(self.part, self.path)
        if os.path.exists(self.note):
            os.remove(self.note)

    def discard(self):
        for path in (self.part, self.note):
            if os.path.exists(path):
                os.remove(path)

    def _have(self):
        return os.path.getsize(self.part) if os.path.exists(self.part) else 0

    def _note(self):
        try:
            with open(self.note, encoding="utf-8") as f:
                return json.load(f)
        except (OSError, ValueError):
            return {}

    def _drop_foreign_part(self):
        """A part of a file of another length is of no use."""
        note = self._note()
        if (note.get("total"), note.get("length")) != (self.total, self.length) or self._have() > self.length:
            self.discard()

    def _check_room(self):
        folder = os.path.dirname(os.path.abspath(self.path))
        there = folder
        while not os.path.isdir(there):
            there = os.path.dirname(there)
        free, needed = shutil.disk_usage(there).free, self.length - self._have()
        if needed > free:
            raise TransferError("%s needs %.1f GB more in %s, which has %.1f GB free; make room, choose another --dir "
                                "or fewer --rows" % (os.path.basename(self.path), needed / 1e9, folder, free / 1e9))

    def _continue(self, url, have):
        note = self._note()
        stream = _open(url, have, self.length, note.get("tag") if note.get("url") == url else None)
        try:
            if stream.total not in (None, self.total):
                raise TransferError("%s has %d bytes, the catalogue expects %d: the file there is not the one expected"
                                    % (url, stream.total, self.total))
            os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
            with open(self.note, "w", encoding="utf-8") as f:
                json.dump({"url": url, "total": self.total, "length": self.length, "tag": stream.tag}, f)
            with open(self.part, "r+b" if stream.start else "wb") as out:
                out.seek(stream.start)
                self._copy(stream, out)
        except (OSError, EOFError, http.client.HTTPException) as e:
            if getattr(e, "errno", None) == 28:
                raise TransferError("no space left for %s; make room and run the same command again" % self.part)
            raise _Interrupted("the connection to %s broke: %s" % (urllib.parse.urlsplit(url).hostname, e))
        finally:
            stream.close()

    def _copy(self, stream, out):
        have, checked = stream.start, stream.start >= 8
        progress = Progress(os.path.basename(self.path), self.length, have)
        while have < self.length:
            chunk = stream.read()
            if not chunk:
                break
            out.write(chunk[:self.length - have])
            have = min(have + len(chunk), self.length)
            if not checked and have >= 8:
                out.flush()
                self._check_head()
                checked = True
            progress.show(have)
        progress.show(have, last=True)

    def _check_head(self):
        if self.head:
            with open(self.part, "rb") as f:
                self.head(f.read(8))

    def _unreachable(self, reason, have):
        kept = ("%.1f MB are kept in %s; the same command goes on from there" % (have / 1e6, self.part)
                if have else "Nothing was changed")
        return Unreachable(
            "%s\n  wanted: %s\n  %s.\n  Check the connection (a proxy is taken from HTTPS_PROXY and HTTP_PROXY). Without "
            "the internet use a set that is made from packages, the embedded samples, or `generate`."
            % (reason, "\n      or: ".join(self.urls), kept))


def digest(path, algorithm):
    """Hexadecimal digest of a file."""
    with open(path, "rb") as f:
        state = hashlib.new(algorithm)
        for chunk in iter(lambda: f.read(CHUNK), b""):
            state.update(chunk)
    return state.hexdigest()

"""Tests of download.py and transfer.py against servers on this machine. Run: python3 test_download.py"""
import http.server
import os
import re
import socketserver
import struct
import subprocess
import sys
import tarfile
import tempfile
import threading
import unittest

import transfer

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS, DIM, QUERIES, SLICE = 5000, 16, 10, 1200


def vectors(rows, fill):
    return struct.pack("<II", rows, DIM) + bytes((fill + i * 7) % 251 for i in range(rows * DIM))


class Handler(http.server.BaseHTTPRequestHandler):
    """Serves `server.files` with ranges; `server.cut` bounds the bytes of one answer, as a broken line does."""
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = self.server.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        asked = re.match(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        start, end = 0, len(body)
        if asked and self.server.ranges and self.headers.get("If-Range", '"1"') == self.server.tag:
            start, end = int(asked[1]), min(int(asked[2]) + 1, len(body))
            self.send_response(206)
            self.send_header("Content-Range", "bytes %d-%d/%d" % (start, end - 1, len(body)))
        else:
            self.send_response(200)
        self.send_header("ETag", self.server.tag)
        self.send_header("Content-Length", str(end - start))
        self.end_headers()
        self.server.starts.append(start)
        sent = body[start:end][:self.server.cut]
        self.server.sent += len(sent)
        try:
            self.wfile.write(sent)
        except OSError:
            pass
        if len(sent) < end - start:
            self.close_connection = True

    def log_message(self, *_):
        pass


class FtpHandler(socketserver.StreamRequestHandler):
    """As much of FTP as a client needs to fetch a file from an offset."""

    def handle(self):
        self.say("220 ready")
        offset, data = 0, None
        for line in self.rfile:
            command, _, argument = line.decode().strip().partition(" ")
            if command == "SIZE":
                self.say("213 %d" % len(self.server.files[argument]))
            elif command in ("EPSV", "PASV"):
                data = socketserver.TCPServer(("127.0.0.1", 0), None)
                port = data.server_address[1]
                self.say("229 ok (|||%d|)" % port if command == "EPSV"
                         else "227 ok (127,0,0,1,%d,%d)" % (port >> 8, port & 255))
            elif command == "REST":
                offset = int(argument)
                self.server.starts.append(offset)
                self.say("350 ok")
            elif command == "RETR":
                connection, _ = data.socket.accept()
                self.say("150 here it comes")
                connection.sendall(self.server.files[argument][offset:][:self.server.cut])
                connection.close()
                data.server_close()
                self.say("226 done")
            else:
                self.say("230 ok" if command == "PASS" else "331 ok" if command == "USER" else "200 ok")

    def say(self, line):
        self.wfile.write((line + "\r\n").encode())


def serve(test, server_class, handler):
    server = server_class(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.files, server.cut, server.ranges, server.tag, server.starts, server.sent = {}, None, True, '"1"', [], 0
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    test.addCleanup(server.server_close)
    test.addCleanup(server.shutdown)
    return server, "127.0.0.1:%d" % server.server_address[1]


class ThreadingFtpServer(socketserver.ThreadingTCPServer):
    pass


class DownloadTest(unittest.TestCase):
    def setUp(self):
        self.server, place = serve(self, http.server.ThreadingHTTPServer, Handler)
        self.url = "http://%s/" % place
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = folder.name
        self.base = vectors(ROWS, 1)
        self.truth = struct.pack("<II", QUERIES, 100) + bytes(QUERIES * 800)
        self.server.files = {"/base.u8bin": self.base, "/query.u8bin": vectors(QUERIES, 3), "/gt": self.truth}

    def catalogue(self, obtain):
        path = os.path.join(self.dir, "catalogue.toml")
        with open(path, "w", encoding="utf-8") as f:
            f.write('[[set]]\nname = "tiny"\nelement = "%s"\ndim = %d\nrows = %d\nqueries = %d\n[set.obtain]\n%s\n'
                    % ("f32" if "archive" in obtain else "u8", DIM, ROWS, QUERIES, obtain))
        return path

    def download(self, *more, obtain=None):
        obtain = obtain or ('kind = "download"\n'
                            'base = { name = "base.u8bin", urls = ["%sbase.u8bin"] }\n'
                            'query = { name = "query.u8bin", urls = ["%squery.u8bin"] }\n'
                            'truth = [{ rows = %d, name = "gt", urls = ["%sgt"] }]'
                            % (self.url, self.url, SLICE, self.url))
        return subprocess.run(
            [sys.executable, os.path.join(HERE, "download.py"), "tiny", "--dir", self.dir, "--catalogue",
             self.catalogue(obtain), *more], capture_output=True, text=True, env=dict(os.environ, no_proxy="*"))

    def read(self, name):
        with open(os.path.join(self.dir, "tiny", name), "rb") as f:
            return f.read()

    def test_a_slice_fetches_its_rows_only_and_gets_its_own_header(self):
        done = self.download("--rows", str(SLICE))
        self.assertEqual(done.returncode, 0, done.stderr)
        got = self.read("base.u8bin.crop_nb_%d" % SLICE)
        self.assertEqual(struct.unpack("<II", got[:8]), (SLICE, DIM))
        self.assertEqual(got[8:], self.base[8:8 + SLICE * DIM])
        self.assertEqual(self.read("gt"), self.truth)
        self.assertLess(self.server.sent, 8 + SLICE * DIM + 8 + QUERIES * DIM + len(self.truth) + 1)
        self.assertEqual(sorted(os.listdir(os.path.join(self.dir, "tiny"))),
                         ["base.u8bin.crop_nb_%d" % SLICE, "gt", "query.u8bin"])

    def test_a_second_run_fetches_nothing(self):
        self.download()
        before = len(self.server.starts)
        self.assertEqual(self.download().returncode, 0)
        self.assertEqual(len(self.server.starts), before)
        self.assertEqual(self.read("base.u8bin"), self.base)

    def test_a_broken_line_is_taken_up_where_it_broke(self):
        self.server.cut = 30000
        path = os.path.join(self.dir, "base.u8bin")
        job = transfer.Transfer([self.url + "base.u8bin"], path, len(self.base), len(self.base))
        job.run(pause_s=0)
        job.finish()
        with open(path, "rb") as f:
            self.assertEqual(f.read(), self.base)
        self.assertEqual(self.server.starts, [0, 30000, 60000])

    def test_a_part_left_by_another_run_is_taken_up(self):
        self.server.cut = 30000
        path = os.path.join(self.dir, "base.u8bin")
        job = transfer.Transfer([self.url + "base.u8bin"], path, len(self.base), len(self.base))
        job._continue(self.url + "base.u8bin", 0)
        self.server.cut, self.server.starts = None, []
        transfer.Transfer([self.url + "base.u8bin"], path, len(self.base), len(self.base)).run(pause_s=0)
        self.assertEqual(self.server.starts, [30000])

    def test_a_file_changed_on_the_server_starts_again(self):
        self.server.cut = 30000
        path = os.path.join(self.dir, "base.u8bin")
        job = transfer.Transfer([self.url + "base.u8bin"], path, len(self.base), len(self.base))
        job._continue(self.url + "base.u8bin", 0)
        self.server.cut, self.server.starts, self.server.tag = None, [], '"2"'
        other = self.server.files["/base.u8bin"] = vectors(ROWS, 9)
        with open(job.run(pause_s=0), "rb") as f:
            self.assertEqual(f.read(), other)
        self.assertEqual(self.server.starts, [0])

    def test_a_server_without_ranges_still_gives_a_slice(self):
        self.server.ranges = False
        self.assertEqual(self.download("--rows", str(SLICE)).returncode, 0)
        self.assertEqual(self.read("base.u8bin.crop_nb_%d" % SLICE)[8:], self.base[8:8 + SLICE * DIM])

    def test_another_file_is_refused(self):
        self.server.files["/base.u8bin"] = vectors(ROWS - 1, 1)
        done = self.download()
        self.assertEqual(done.returncode, 1)
        self.assertIn("the catalogue expects %d" % len(self.base), done.stderr)
        self.server.files["/base.u8bin"] = struct.pack("<II", ROWS, DIM + 1) + self.base[8:]
        done = self.download()
        self.assertIn("starts with %d x %d" % (ROWS, DIM + 1), done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.dir, "tiny", "base.u8bin")))

    def test_what_is_missing_is_named(self):
        del self.server.files["/query.u8bin"]
        done = self.download()
        self.assertIn("query.u8bin answered 404", done.stderr)
        done = self.download("--rows", str(ROWS + 1))
        self.assertIn("has 1 to %d rows" % ROWS, done.stderr)

    def test_no_network_names_the_host_and_changes_nothing(self):
        path = os.path.join(self.dir, "new", "base.u8bin")
        job = transfer.Transfer(["http://host.invalid/base.u8bin"], path, 10, 10)
        with self.assertRaises(transfer.Unreachable) as caught:
            job.run(tries=1)
        self.assertIn("cannot reach host.invalid", str(caught.exception))
        self.assertIn("Nothing was changed", str(caught.exception))
        self.assertFalse(os.path.exists(os.path.join(self.dir, "new")))

    def test_a_second_address_is_tried(self):
        path = os.path.join(self.dir, "base.u8bin")
        urls = ["http://host.invalid/base.u8bin", self.url + "base.u8bin"]
        with open(transfer.Transfer(urls, path, len(self.base), len(self.base)).run(pause_s=0), "rb") as f:
            self.assertEqual(f.read(), self.base)

    def test_ftp_goes_on_from_an_offset(self):
        server, place = serve(self, ThreadingFtpServer, FtpHandler)
        server.files, server.cut = {"/base.u8bin": self.base}, 50000
        path = os.path.join(self.dir, "base.u8bin")
        job = transfer.Transfer(["ftp://%s/base.u8bin" % place], path, len(self.base), len(self.base))
        with open(job.run(pause_s=0), "rb") as f:
            self.assertEqual(f.read(), self.base)
        self.assertEqual(server.starts, [50000])

    def archive(self):
        source = os.path.join(self.dir, "source")
        os.makedirs(source, exist_ok=True)
        row = struct.pack("<i", DIM) + bytes(4 * DIM)
        files = {"t_base.fvecs": row * ROWS, "t_query.fvecs": row * QUERIES,
                 "t_truth.ivecs": (struct.pack("<i", 100) + bytes(400)) * QUERIES}
        with tarfile.open(os.path.join(source, "t.tar.gz"), "w:gz") as tar:
            for name, body in files.items():
                with open(os.path.join(source, name), "wb") as f:
                    f.write(body)
                tar.add(os.path.join(source, name), "t/" + name)
        with open(os.path.join(source, "t.tar.gz"), "rb") as f:
            self.server.files["/t.tar.gz"] = f.read()
        return ('kind = "archive"\nurls = ["%st.tar.gz"]\nname = "t.tar.gz"\nbytes = %d\nmd5 = "%s"\n'
                'base = "t/t_base.fvecs"\nquery = "t/t_query.fvecs"\ntruth = "t/t_truth.ivecs"'
                % (self.url, os.path.getsize(f.name), transfer.digest(f.name, "md5")))

    def test_an_archive_is_unpacked_and_sliced(self):
        obtain, row = self.archive(), 4 + 4 * DIM
        done = self.download(obtain=obtain)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.read("t_base.fvecs")), ROWS * row)
        done = self.download("--rows", "100", obtain=obtain)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.read("t_base.fvecs.crop_nb_100")), 100 * row)
        self.assertEqual(len(self.server.starts), 1)

    def test_a_damaged_archive_is_removed(self):
        obtain = self.archive()
        body = self.server.files["/t.tar.gz"]
        self.server.files["/t.tar.gz"] = body[:50] + bytes([body[50] ^ 1]) + body[51:]
        done = self.download(obtain=obtain)
        self.assertIn("expected", done.stderr)
        self.assertEqual(os.listdir(os.path.join(self.dir, "tiny")), [])


if __name__ == "__main__":
    unittest.main()

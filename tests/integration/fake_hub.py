"""A hub of our own for tests: the parts of huggingface.co's HTTP API that a
download needs, on two ports. The first is the hub; it redirects to the second,
the store, for large files, as the real one does.

    with FakeHub() as hub:
        hub.add("test/tiny", {"config.json": b"{}", "model.safetensors": b"..."})
        ... HF_ENDPOINT=hub.url ...
        hub.requests    # [(place, path, headers)]
"""

import hashlib
import http.server
import json
import select
import socket
import socketserver
import ssl
import threading
import time
import urllib.parse

LARGE_ENDINGS = (".safetensors", ".bin", ".gguf", ".onnx")
PIECE = 16 << 10


class Repository:
    def __init__(self, files, revision, info):
        self.files = dict(files)
        self.revision = revision
        self.info = info
        self.commit = hashlib.sha1(
            json.dumps(sorted((path, hashlib.sha256(data).hexdigest())
                              for path, data in files.items())).encode()).hexdigest()
        self.gated = False


def is_large(path):
    return path.endswith(LARGE_ENDINGS)


def git_blob_of(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def blob_of(path, data):
    """The name of a file's blob in the cache."""
    return hashlib.sha256(data).hexdigest() if is_large(path) else git_blob_of(data)


class TunnelProxy(socketserver.ThreadingTCPServer):
    """A proxy for https: it joins a client with the server that it names."""
    daemon_threads = True

    class Handler(socketserver.StreamRequestHandler):
        def handle(self):
            method, target = self.rfile.readline().split()[:2]
            while self.rfile.readline().strip():
                pass
            self.server.targets.append((method.decode(), target.decode()))
            host, _, port = target.decode().rpartition(":")
            with socket.create_connection((host, int(port))) as server:
                self.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
                ends = {self.connection: server, server: self.connection}
                while True:
                    for end in select.select(list(ends), [], [])[0]:
                        data = end.recv(1 << 16)
                        if not data:
                            return
                        ends[end].sendall(data)

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.Handler)
        self.targets = []  # [(method, "HOST:PORT")]
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class FakeHub:
    def __init__(self, certificate=None, safe_store=True):
        """With the files (certificate, key) the ports speak TLS; the store's
        only if it is safe."""
        self.certificates = {"hub": certificate,
                             "store": certificate if safe_store else None}
        self.lock = threading.Lock()
        self.repositories = {}
        self.requests = []
        # How the servers behave, by the path of a file or "" for all:
        self.failures = []         # [(status, headers)] of the next answers
        self.cut_after = {}        # path -> [bytes of each next answer]
        self.tampered = {}         # path -> other bytes
        # What a request of a part gets: True: the part, False: the whole file,
        # "unnamed", "first" or "none": a 206 that does not say of what, or is of
        # another part, or a 416.
        self.ranges = True
        self.lengths = True        # False: files come without a Content-Length
        self.coding = None         # a Content-Encoding that nobody asked for
        self.location = None       # where small files are: a format of `path`
        self.seconds_a_piece = 0
        self.hold_at = None        # no file goes on after so many bytes, until None
        self.hub, self.store = (self._serve(place) for place in ("hub", "store"))
        self.url, self.store_url = self._url(self.hub), self._url(self.store)

    def _serve(self, place):
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *arguments):
                pass

            def do_GET(self):
                owner.answer(place, self)

            do_HEAD = do_GET

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        server.scheme = "http"
        if self.certificates[place]:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*self.certificates[place])
            server.socket = context.wrap_socket(server.socket, server_side=True)
            server.scheme = "https"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    @staticmethod
    def _url(server):
        return f"{server.scheme}://127.0.0.1:{server.server_address[1]}"

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stop()

    def stop(self):
        for server in (self.hub, self.store):
            server.shutdown()
            server.server_close()

    def add(self, name, files, revision="main", **info):
        repository = Repository(files, revision, info)
        self.repositories[name] = repository
        return repository

    def fetched(self, path):
        """The requests of a file's bytes that reached the place that has them."""
        place = "store" if is_large(path) else "hub"
        with self.lock:
            return [headers for where, what, headers in self.requests
                    if where == place and what.split("?")[0].endswith("/" + path)]

    def answer(self, place, request):
        target = request.path
        if target.startswith("http://"):  # this is the proxy of a request
            target = "/" + target.split("/", 3)[3]
            place = "proxy" if place == "hub" else place
        with self.lock:
            self.requests.append((place, target, dict(request.headers)))
            failure = self.failures.pop(0) if self.failures else None
        if failure:
            return self.send(request, failure[0], b"{}", failure[1])
        path = urllib.parse.unquote(target.split("?")[0]).strip("/")
        if path.startswith("moved/"):
            name, _, file = path[len("moved/"):].partition("/+/")
            return self.send_file(request, file, self.repositories[name].files[file], {})
        if place == "store":
            name, _, file = path.partition("/+/")
            return self.send_file(request, file, self.repositories[name].files[file], {})
        if path.startswith("api/models/"):
            return self.send_listing(request, path[len("api/models/"):])
        name, _, rest = path.partition("/resolve/")
        commit, _, file = rest.partition("/")
        return self.resolve(request, name, commit, file)

    def find(self, request, name, revision):
        """Returns the repository, or None after answering that there is none."""
        repository = self.repositories.get(name)
        if repository is None:
            self.send(request, 401, b"{}", {"X-Error-Code": "RepoNotFound",
                                            "X-Error-Message": "Repository not found"})
        elif revision not in (repository.revision, repository.commit):
            self.send(request, 404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        else:
            return repository
        return None

    def send_tree(self, request, path):
        """The list that newer versions of huggingface_hub ask for."""
        name, _, revision = path.partition("/tree/")
        repository = self.find(request, name, revision)
        if repository is None:
            return
        tree = []
        for file, data in repository.files.items():
            entry = {"type": "file", "path": file, "size": len(data),
                     "oid": git_blob_of(data)}
            if is_large(file):
                entry["lfs"] = {"oid": blob_of(file, data), "size": len(data),
                                "pointerSize": 134}
            tree.append(entry)
        self.send(request, 200, json.dumps(tree).encode(),
                  {"Content-Type": "application/json"})

    def send_listing(self, request, path):
        if "/tree/" in path:
            return self.send_tree(request, path)
        name, _, revision = path.partition("/revision/")
        repository = self.find(request, name, revision)
        if repository is None:
            return
        siblings = []
        for file, data in repository.files.items():
            entry = {"rfilename": file, "size": len(data),
                     "blobId": git_blob_of(data)}
            if is_large(file):
                entry["lfs"] = {"sha256": blob_of(file, data), "size": len(data),
                                "pointerSize": 134}
            siblings.append(entry)
        answer = {"id": name, "sha": repository.commit, "siblings": siblings}
        answer.update(repository.info)
        self.send(request, 200, json.dumps(answer).encode(),
                  {"Content-Type": "application/json"})

    def resolve(self, request, name, commit, file):
        repository = self.find(request, name, commit)
        if repository is None:
            return
        if repository.gated:
            return self.send(request, 403, b"{}", {"X-Error-Code": "GatedRepo"})
        data = repository.files.get(file)
        if data is None:
            return self.send(request, 404, b"{}", {"X-Error-Code": "EntryNotFound"})
        blob = blob_of(file, data)
        headers = {"X-Repo-Commit": repository.commit, "ETag": f'"{blob}"'}
        if not is_large(file) and self.location:
            path = f"moved/{name}/+/{urllib.parse.quote(file)}"
            headers["Location"] = self.location.format(path=path)
            return self.send(request, 307, b"", headers)
        if not is_large(file):
            return self.send_file(request, file, data, headers)
        location = (f"{self.store_url}/{name}/+/{urllib.parse.quote(file)}"
                    "?signature=a%2Fb%2B%3D")
        headers.update({"X-Linked-Etag": f'"{blob}"', "Location": location,
                        "X-Linked-Size": str(len(data))})
        self.send(request, 302, f"Found. Redirecting to {location}".encode(), headers)

    def send(self, request, status, body, headers):
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(body)

    def send_file(self, request, path, data, headers):
        data = self.tampered.get(path, data)
        begin, status = 0, 200
        asked = request.headers.get("Range")
        if asked and self.ranges == "none":
            return self.send(request, 416, b"", {})
        if asked and self.ranges:
            begin, status = int(asked.split("=")[1].split("-")[0]), 206
            begin = 0 if self.ranges == "first" else begin
            if self.ranges != "unnamed":
                headers = headers | {
                    "Content-Range": f"bytes {begin}-{len(data) - 1}/{len(data)}"}
        if self.coding:
            headers = headers | {"Content-Encoding": self.coding}
        request.send_response(status)
        for name, value in headers.items():
            request.send_header(name, value)
        request.send_header("Accept-Ranges", "bytes")
        if self.lengths:
            request.send_header("Content-Length", str(len(data) - begin))
        else:
            request.close_connection = True
        request.end_headers()
        if request.command == "HEAD":
            return
        with self.lock:
            cuts = self.cut_after.get(path)
            cut = cuts.pop(0) if cuts else None
        end = len(data) if cut is None else min(begin + cut, len(data))
        try:
            for at in range(begin, end, PIECE):
                request.wfile.write(data[at:min(at + PIECE, end)])
                request.wfile.flush()
                time.sleep(self.seconds_a_piece)
                while self.hold_at is not None and at >= self.hold_at:
                    time.sleep(0.01)
        except OSError:
            pass  # the client has gone
        if cut is not None:
            request.close_connection = True

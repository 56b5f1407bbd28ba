"""A model hub on loopback for tests: real HTTP, with faults on demand.

    hub = TestHub()                        # two servers: the hub and the host its files live on
    hub.add("org/name", {"model.gguf": data})
    hub.fault("/org/name/resolve/…", Fault("cut", after=1000, times=1))
    run(env=hub.environment())
    hub.requests                           # [(server, method, path, headers), …] as they came

A file is bytes, or a Sparse: a beginning and a size, the rest zeros that are made while sending.
Serves the APIs of Hugging Face (/api/models/…, /…/resolve/…), ModelScope (/api/v1/models/…) and the
Ollama registry (/v2/…). Files are redirected to the second server, whose requests must carry no token.
"""

import gzip
import hashlib
import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "c0ffee" + "0" * 34


@dataclass
class Sparse:
    head: bytes
    size: int

    def slice(self, first: int, last: int):
        """The bytes first..last, in pieces."""
        if first < len(self.head):
            yield self.head[first:min(last + 1, len(self.head))]
        left = last + 1 - max(first, len(self.head))
        while left > 0:
            piece = min(left, 1 << 20)
            yield bytes(piece)
            left -= piece


@dataclass
class Fault:
    """What goes wrong with a path. Kinds:

    status CODE      answers with that code (retry_after, error_code set headers)
    cut              closes the connection after `after` bytes of the body
    ignore_range     answers 200 with the whole file
    wrong_start      a Content-Range that starts elsewhere
    wrong_total      a Content-Range with another total, growing with each request
    long_length      a Content-Length larger than the body
    gzip             compresses although nobody asked
    drip             one byte every 50 ms
    redirect TO      302 to that address
    loop             redirects to itself
    """

    kind: str
    code: int = 0
    after: int = 0
    to: str = ""
    retry_after: str = ""
    error_code: str = ""
    times: int = 1 << 30


@dataclass
class Repo:
    files: dict = field(default_factory=dict)
    commit: str = COMMIT
    gated: bool = False
    token: str = ""  # needed when not empty
    revisions: tuple = ("main",)


class TestHub:
    def __init__(self):
        self.repos: dict[str, Repo] = {}
        self.blobs: dict[str, object] = {}  # of the second server, by path
        self.manifests: dict[str, bytes] = {}
        self.faults: dict[str, Fault] = {}
        self.requests: list[tuple[str, str, str, dict]] = []
        self.lock = threading.Lock()
        self.hub = self._serve("hub")
        self.cdn = self._serve("cdn")

    # ---- set-up
    def add(self, repo: str, files: dict, **options) -> Repo:
        self.repos[repo] = Repo(dict(files), **options)
        return self.repos[repo]

    def add_ollama(self, name: str, tag: str, blob, extra=()) -> str:
        data = blob.head if isinstance(blob, Sparse) else blob
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        layers = [{"mediaType": "application/vnd.ollama.image.model", "digest": digest, "size": size_of(blob)}]
        layers += list(extra)
        manifest = {"schemaVersion": 2, "config": {"digest": digest, "size": 1}, "layers": layers}
        self.manifests[f"/v2/{name}/manifests/{tag}"] = json.dumps(manifest).encode()
        self.blobs[f"/v2/{name}/blobs/{digest}"] = blob
        return digest

    def fault(self, path: str, fault: Fault) -> None:
        """For every path that contains `path`."""
        self.faults[path] = fault

    def environment(self) -> dict:
        return {"HF_ENDPOINT": self.url(), "MS_ENDPOINT": self.url(), "no_proxy": "127.0.0.1"}

    def url(self) -> str:
        return f"http://127.0.0.1:{self.hub.server_port}"

    def cdn_url(self) -> str:
        # Another name for the same machine: another origin.
        return f"http://localhost:{self.cdn.server_port}"

    def close(self) -> None:
        for server in (self.hub, self.cdn):
            server.shutdown()
            server.server_close()

    def forget(self) -> None:
        """Requests and faults so far."""
        self.requests.clear()
        self.faults.clear()

    # ---- serving
    def _serve(self, role: str) -> ThreadingHTTPServer:
        handler = type("Handler", (Handler,), {"test_hub": self, "role": role})
        server = QuietServer(("127.0.0.1", 0), handler)
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def take_fault(self, path: str) -> "Fault | None":
        with self.lock:
            for part, fault in self.faults.items():
                if part in path and fault.times > 0:
                    fault.times -= 1
                    return fault
        return None


def size_of(data) -> int:
    return data.size if isinstance(data, Sparse) else len(data)


def content_id(data) -> str:
    return hashlib.sha256(data.head if isinstance(data, Sparse) else data).hexdigest()


class QuietServer(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        pass  # clients that hang up are part of the tests


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    test_hub: TestHub
    role: str

    def log_message(self, *args):
        pass

    def do_GET(self):
        path = unquote(urlsplit(self.path).path)
        with self.test_hub.lock:
            self.test_hub.requests.append((self.role, "GET", self.path, dict(self.headers.items())))
        fault = self.test_hub.take_fault(path)
        try:
            if fault and fault.kind == "status":
                headers = {}
                if fault.retry_after:
                    headers["Retry-After"] = fault.retry_after
                if fault.error_code:
                    headers["X-Error-Code"] = fault.error_code
                return self.answer(fault.code, b"{}", headers)
            if fault and fault.kind == "loop":
                return self.answer(302, b"", {"Location": self.path})
            if fault and fault.kind == "redirect":
                return self.answer(302, b"", {"Location": fault.to})
            if self.role == "cdn":
                return self.send_file(self.test_hub.blobs.get(path), fault)
            return self.serve_hub(path, fault)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def answer(self, code: int, body: bytes, headers: dict):
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def json(self, value):
        self.answer(200, json.dumps(value).encode(), {"Content-Type": "application/json"})

    def serve_hub(self, path: str, fault):
        hub = self.test_hub
        if path in hub.manifests:
            return self.answer(200, hub.manifests[path], {"Content-Type": "application/json"})
        if path in hub.blobs:
            return self.answer(307, b"", {"Location": hub.cdn_url() + path})
        parts = path.strip("/").split("/")
        if parts[0] == "v2":
            return self.answer(404, b"{}", {})
        api = parts[:3] == ["api", "v1", "models"] or parts[:2] == ["api", "models"]
        modelscope = parts[:3] == ["api", "v1", "models"] or parts[0] == "models"
        start = 3 if parts[:3] == ["api", "v1", "models"] else 2 if api else 1 if modelscope else 0
        name = "/".join(parts[start:start + 2])
        repo = hub.repos.get(name)
        token = self.headers.get("Authorization", "")
        if repo is None:
            return self.answer(404 if token else 401, b"{}", {"X-Error-Code": "RepoNotFound"})
        if repo.token and token != "Bearer " + repo.token:
            return self.answer(401, b"{}", {"X-Error-Code": "GatedRepo" if repo.gated else "RepoNotFound"})
        if api and modelscope:
            files = [{"Path": n, "Size": size_of(d), "Sha256": content_id(d), "Type": "blob"}
                     for n, d in repo.files.items()]
            return self.json({"Code": 200, "Data": {"Files": files}})
        if api:
            revision = "/".join(parts[5:])
            if revision not in repo.revisions and revision != repo.commit:
                return self.answer(404, b"{}", {"X-Error-Code": "RevisionNotFound"})
            siblings = []
            for n, d in repo.files.items():
                item = {"rfilename": n, "size": size_of(d), "blobId": content_id(d)[:40]}
                if not n.endswith(".json"):
                    item["lfs"] = {"sha256": content_id(d), "size": size_of(d)}
                siblings.append(item)
            return self.json({"sha": repo.commit, "siblings": siblings})
        if parts[start + 2:start + 3] == ["resolve"]:
            file = "/".join(parts[start + 4:])
            data = repo.files.get(file)
            if data is None:
                return self.answer(404, b"", {"X-Error-Code": "EntryNotFound"})
            if file.endswith(".json"):
                return self.send_file(data, fault)
            where = f"/blob/{name}/{file}"
            hub.blobs[where] = data
            return self.answer(302, b"", {"Location": hub.cdn_url() + where + "?signature=secret"})
        return self.answer(404, b"", {})

    def send_file(self, data, fault):
        if data is None:
            return self.answer(404, b"", {})
        kind = fault.kind if fault else ""
        size = size_of(data)
        first, last = 0, size - 1
        wanted = self.headers.get("Range", "")
        partial = wanted.startswith("bytes=") and kind != "ignore_range" and kind != "gzip"
        if partial:
            start, _, end = wanted[6:].partition("-")
            first = int(start)
            last = min(int(end) if end else size - 1, size - 1)
            if first >= size:
                return self.answer(416, b"", {"Content-Range": f"bytes */{size}"})
        pieces = data.slice(first, last) if isinstance(data, Sparse) else iter([data[first:last + 1]])
        length = last - first + 1
        if kind == "gzip":
            body = gzip.compress(b"".join(pieces))
            return self.answer(200, body, {"Content-Encoding": "gzip"})
        self.send_response(206 if partial else 200)
        if partial:
            total = size
            if kind == "wrong_total":
                total += 1 + fault.times % 7
            begin = first + 1 if kind == "wrong_start" else first
            self.send_header("Content-Range", f"bytes {begin}-{begin + length - 1}/{total}")
        self.send_header("Content-Length", str(length + (1000 if kind == "long_length" else 0)))
        self.end_headers()
        sent = 0
        for piece in pieces:
            if kind == "cut" and sent + len(piece) > fault.after:
                self.wfile.write(piece[:fault.after - sent])
                self.wfile.flush()
                self.close_connection = True
                return
            if kind == "drip":
                for i in range(len(piece)):
                    self.wfile.write(piece[i:i + 1])
                    self.wfile.flush()
                    time.sleep(0.05)
            self.wfile.write(piece)
            sent += len(piece)
        if kind == "long_length":
            self.close_connection = True

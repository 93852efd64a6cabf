"""Stand-in of the Hugging Face hub: keeps the datasets that are uploaded, in memory."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TEXT = (".md", ".json", "LICENSE")
"""Ends of the names of files that are kept in git itself; others go to the large file storage."""


class Hub(ThreadingHTTPServer):
    """Server of uploads; as on the hub, a file is part of a dataset once it is committed."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.datasets: dict[str, dict[str, bytes]] = {}
        self.tags: dict[str, set[str]] = {}
        self.large: dict[str, bytes] = {}
        self.tokens: set[str | None] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """Return status and content of the answer to a request."""
        if method == "PUT":  # to the address that the batch has given
            self.large[path.rpartition("/")[2]] = body
            return 200, {}
        if path == "/api/repos/create":
            data = json.loads(body)
            name = f"{data['organization']}/{data['name']}"
            status = 409 if name in self.datasets else 200
            self.datasets.setdefault(name, {})
            self.tags.setdefault(name, set())
            return status, {"url": f"{self.url}/datasets/{name}"}
        if path == "/api/validate-yaml":
            return 200, {"errors": [], "warnings": []}
        if found := re.fullmatch(r"/datasets/(.+?)\.git/info/lfs/objects/batch", path):
            assert found[1] in self.datasets
            return 200, {"transfer": "basic", "objects": self._batch(json.loads(body)["objects"])}
        if (found := re.fullmatch(r"/api/datasets/(.+?/.+?)/(\w+)/([^/]+)", path)) is None:
            return 404, {"error": path}
        name, verb, revision = found.groups()
        files = self.datasets[name]
        if method == "GET":
            return 200, {"id": name, "sha": "0" * 40}
        if verb == "preupload":
            return 200, {"files": [self._mode(files, f) for f in json.loads(body)["files"]]}
        if verb == "tag":
            return self._tag(self.tags[name], method, json.loads(body)["tag"] if body else revision)
        assert (verb, revision) == ("commit", "main")
        for line in map(json.loads, body.splitlines()):
            value = line["value"]
            if line["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif line["key"] == "lfsFile":
                files[value["path"]] = self.large[value["oid"]]
        commit = f"{self.url}/datasets/{name}/commit/0"
        return 200, {"success": True, "commitOid": "0" * 40, "commitUrl": commit}

    def _batch(self, objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
        for one in objects:
            if one["oid"] not in self.large:
                one["actions"] = {"upload": {"href": f"{self.url}/large/{one['oid']}"}}
        return objects

    @staticmethod
    def _mode(files: dict[str, bytes], file: dict[str, Any]) -> dict[str, Any]:
        name = file["path"]
        found = {"path": name, "shouldIgnore": False}
        if name.endswith(TEXT):
            data = files.get(name)
            blob = None if data is None else b"blob %d\0" % len(data) + data
            oid = None if blob is None else hashlib.sha1(blob).hexdigest()
            return {**found, "uploadMode": "regular", "oid": oid}
        oid = hashlib.sha256(files[name]).hexdigest() if name in files else None
        return {**found, "uploadMode": "lfs", "oid": oid}

    @staticmethod
    def _tag(tags: set[str], method: str, tag: str) -> tuple[int, Any]:
        if (tag in tags) != (method == "DELETE"):
            return (409 if method == "POST" else 404), {"error": "tag"}
        (tags.remove if method == "DELETE" else tags.add)(tag)
        return 200, {}


class Handler(BaseHTTPRequestHandler):
    """Requests of huggingface_hub."""

    server: Hub
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.command != "PUT":
            self.server.tokens.add(self.headers.get("Authorization"))
        path = self.path.partition("?")[0]
        status, content = self.server.answer(self.command, path, body)
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if status == 404:
            self.send_header("X-Error-Code", "RevisionNotFound")
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_PUT = do_DELETE = do_POST  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@contextmanager
def running_hub() -> Iterator[Hub]:
    """Run a hub for the time of a test."""
    with Hub() as hub:
        thread = threading.Thread(target=hub.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        yield hub
        hub.shutdown()
        thread.join()

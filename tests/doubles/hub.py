"""A Hugging Face Hub on the loopback interface, for the real client to talk to.

It speaks what downloading a dataset needs: repository info and trees at a revision, and files with ETag, X-Repo-Commit
and HEAD. Parquet files are redirected to a content store, as the hub does with large files. Failures are those of the
hub: error codes in X-Error-Code, gated repositories and rate limits.
"""

import hashlib
import json
import re
import threading
from collections.abc import Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import NamedTuple, Self
from urllib.parse import unquote, urlsplit

_API = re.compile(r"/api/datasets/(?P<repo>[^/]+/[^/]+)(?:/(?P<what>revision|tree)/(?P<revision>[^/]+)(?:/.*)?)?")
_RESOLVE = re.compile(r"/datasets/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)")
_BLOB = re.compile(r"/blobs/(?P<sha256>[0-9a-f]{64})")

# The client asks for a registry of its own once a day; that is no business of a test.
_HOUSEKEEPING = "/api/agent-harnesses"


class Request(NamedTuple):
    """One request that the double received."""

    method: str
    path: str


class Answer(NamedTuple):
    """One response of the double."""

    status: HTTPStatus
    headers: Mapping[str, str]
    body: bytes = b""


class HubDouble:
    """Repositories with commits, and the failures that a test asks for."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.bodies: list[bytes] = []
        """Of every POST request."""
        self.gated: set[str] = set()
        self.token = "hf_double"
        self.rate_limits: list[str] = []
        """Retry-After values of the 429 answers that the next requests get; empty text sends no such header."""
        self.server_errors = 0
        """How many of the next requests get a 503."""
        self._commits: dict[str, dict[str, dict[str, bytes]]] = {}
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.stop()

    def stop(self) -> None:
        """Refuse connections from now on."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    @property
    def url(self) -> str:
        """What HF_ENDPOINT is to be."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def _content_url(self) -> str:
        # Large files lie on another host than the hub, to which the client sends no token.
        return f"http://localhost:{self._server.server_port}"

    def commit(self, repo: str, files: Mapping[str, bytes]) -> str:
        """Make the files the newest state of the repository; returns the commit's sha."""
        commits = self._commits.setdefault(repo, {})
        digest = hashlib.sha1(repr((repo, len(commits), sorted(files))).encode()).hexdigest()
        commits[digest] = dict(files)
        return digest

    def answer(self, method: str, target: str, headers: Mapping[str, str]) -> Answer:
        """The response to one request."""
        path = unquote(urlsplit(target).path)
        if path == _HOUSEKEEPING:
            return _refusal(HTTPStatus.NOT_FOUND, "EntryNotFound")
        self.requests.append(Request(method, path))
        return self._failure() or self._route(path, headers)

    def _failure(self) -> Answer | None:
        if self.rate_limits:
            seconds = self.rate_limits.pop(0)
            return Answer(HTTPStatus.TOO_MANY_REQUESTS, {"Retry-After": seconds} if seconds else {})
        if self.server_errors:
            self.server_errors -= 1
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, {})
        return None

    def _route(self, path: str, headers: Mapping[str, str]) -> Answer:
        if match := _API.fullmatch(path):
            return self._api(match["repo"], match["what"], match["revision"] or "main")
        if match := _RESOLVE.fullmatch(path):
            token = headers.get("Authorization", "").removeprefix("Bearer ")
            return self._resolve(match["repo"], match["revision"], match["path"], token)
        if match := _BLOB.fullmatch(path):
            return self._blob(match["sha256"])
        return _refusal(HTTPStatus.NOT_FOUND, "EntryNotFound")

    def _api(self, repo: str, what: str | None, revision: str) -> Answer:
        if repo not in self._commits:
            return _refusal(HTTPStatus.NOT_FOUND, "RepoNotFound")
        if (sha := self._sha(repo, revision)) is None:
            return _refusal(HTTPStatus.NOT_FOUND, "RevisionNotFound")
        files = self._commits[repo][sha]
        if what == "tree":
            listing = [
                {"type": "file", "path": path, "size": len(body), "oid": _git_sha(body)} for path, body in files.items()
            ]
            return _json(listing)
        siblings = [{"rfilename": path} for path in files]
        gated = "auto" if repo in self.gated else False
        return _json({"id": repo, "sha": sha, "private": False, "gated": gated, "tags": [], "siblings": siblings})

    def _resolve(self, repo: str, revision: str, path: str, token: str) -> Answer:
        if repo not in self._commits:
            return _refusal(HTTPStatus.NOT_FOUND, "RepoNotFound")
        if repo in self.gated and token != self.token:
            return _refusal(HTTPStatus.FORBIDDEN, "GatedRepo")
        if (sha := self._sha(repo, revision)) is None:
            return _refusal(HTTPStatus.NOT_FOUND, "RevisionNotFound")
        headers = {"X-Repo-Commit": sha}
        body = self._commits[repo][sha].get(path)
        if body is None:
            return _refusal(HTTPStatus.NOT_FOUND, "EntryNotFound", headers)
        if not path.endswith(".parquet"):
            return Answer(HTTPStatus.OK, {**headers, "ETag": f'"{_git_sha(body)}"'}, body)
        sha256 = hashlib.sha256(body).hexdigest()
        linked = {"X-Linked-ETag": f'"{sha256}"', "X-Linked-Size": str(len(body)), "ETag": f'"{_git_sha(body)}"'}
        return Answer(HTTPStatus.FOUND, {**headers, **linked, "Location": f"{self._content_url}/blobs/{sha256}"})

    def _blob(self, sha256: str) -> Answer:
        every = (body for commits in self._commits.values() for files in commits.values() for body in files.values())
        body = next((body for body in every if hashlib.sha256(body).hexdigest() == sha256), None)
        if body is None:
            return _refusal(HTTPStatus.NOT_FOUND, "EntryNotFound")
        return Answer(HTTPStatus.OK, {"ETag": f'"{sha256}"'}, body)

    def _sha(self, repo: str, revision: str) -> str | None:
        if revision == "main":
            return next(reversed(self._commits[repo]))
        return revision if revision in self._commits[repo] else None


def _git_sha(body: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(body) + body).hexdigest()


def _json(value: object) -> Answer:
    return Answer(HTTPStatus.OK, {"Content-Type": "application/json"}, json.dumps(value).encode())


def _refusal(status: HTTPStatus, code: str, headers: Mapping[str, str] | None = None) -> Answer:
    message = {"X-Error-Code": code, "X-Error-Message": f"{code} (double)"}
    return Answer(status, {**(headers or {}), **message}, json.dumps({"error": code}).encode())


def _handler(hub: HubDouble) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._send(with_body=False)

        def do_GET(self) -> None:
            self._send(with_body=True)

        def do_POST(self) -> None:
            hub.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            with suppress(ConnectionAbortedError):
                self._send(with_body=True)

        def _send(self, *, with_body: bool) -> None:
            answer = hub.answer(self.command, self.path, self.headers)
            self.send_response(answer.status)
            for name, value in {**answer.headers, "Content-Length": str(len(answer.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if with_body:
                self.wfile.write(answer.body)

        def log_message(self, *_: object) -> None:
            """Keep the test output quiet."""

    return Handler

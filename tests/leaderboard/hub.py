"""The hub of the dataset tests, with what publishing needs besides: preupload, commits with a parent, tokens."""

import base64
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import ThreadingHTTPServer
from urllib.parse import urlsplit

from tests.doubles.hub import Answer, HubDouble, Request, _git_sha, _handler, _json, _refusal


class WritableHub(HubDouble):
    """Dataset repositories that take commits from whoever holds the token."""

    def __init__(self) -> None:
        super().__init__()
        self._server.server_close()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _writing_handler(self))
        self._thread = type(self._thread)(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self.bodies: list[bytes] = []
        """Of every POST request."""
        self.summaries: list[str] = []
        """Of every commit made."""
        self.before_commit: list[Callable[[], object]] = []
        """Each is called once, before a commit is looked at: somebody else who was faster."""
        self.lost_answers = 0
        """How many of the next commits are made, but the connection breaks before the answer."""

    def files(self, repo: str) -> dict[str, bytes]:
        """The newest state of a repository."""
        return self._commits[repo][self._sha(repo, "main")]

    def answer(self, method: str, target: str, headers: Mapping[str, str]) -> Answer:
        """The response to one request; ConnectionAbortedError closes the connection without any."""
        if method != "POST":
            return super().answer(method, target, headers)
        path = urlsplit(target).path
        self.requests.append(Request(method, path))
        if headers.get("Authorization") != f"Bearer {self.token}":
            return _refusal(HTTPStatus.UNAUTHORIZED, "Unauthorized")
        if path == "/api/validate-yaml":
            return _json({"warnings": [], "errors": []})
        if failure := self._failure():
            return failure
        kind, _, rest = path.removeprefix("/api/").partition("/")
        owner, name, what, _ = rest.split("/")
        repo = f"{owner}/{name}"
        if kind != "datasets" or repo not in self._commits:
            return _refusal(HTTPStatus.NOT_FOUND, "RepoNotFound")
        return self._preupload(repo) if what == "preupload" else self._commit(repo)

    def _preupload(self, repo: str) -> Answer:
        there = {path: _git_sha(content) for path, content in self.files(repo).items()}
        asked = [file["path"] for file in json.loads(self.bodies[-1])["files"]]
        common = {"uploadMode": "regular", "shouldIgnore": False}
        return _json({"files": [{"path": path, "oid": there.get(path)} | common for path in asked]})

    def _commit(self, repo: str) -> Answer:
        if self.before_commit:
            self.before_commit.pop(0)()
        header, *operations = map(json.loads, self.bodies[-1].splitlines())
        if header["value"]["parentCommit"] != self._sha(repo, "main"):
            return _refusal(HTTPStatus.PRECONDITION_FAILED, "StaleParent")
        added = {item["value"]["path"]: base64.b64decode(item["value"]["content"]) for item in operations}
        sha = self.commit(repo, self.files(repo) | added)
        self.summaries.append(header["value"]["summary"])
        if self.lost_answers:
            self.lost_answers -= 1
            raise ConnectionAbortedError
        return _json({"commitUrl": f"{self.url}/datasets/{repo}/commit/{sha}", "commitOid": sha})


def _writing_handler(hub: WritableHub) -> type:
    class Handler(_handler(hub)):
        def do_POST(self) -> None:  # noqa: N802 - the standard library's name
            hub.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            with suppress(ConnectionAbortedError):
                self._send(with_body=True)

    return Handler

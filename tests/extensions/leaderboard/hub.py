"""The hub of the dataset tests, with what publishing needs besides: preupload, commits with a parent, pull requests."""

import base64
import json
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from tests.doubles.hub import Answer, HubDouble, Request, _git_sha, _json, _refusal

_API = re.compile(r"/api/(datasets|models)/(?P<repo>[^/]+/[^/]+)(?:/(?P<what>\w+)(?:/.*)?)?")
Query = Mapping[str, list[str]]


class PullRequest(NamedTuple):
    """One that was opened; the repository itself is as it was."""

    repo: str
    title: str
    files: Mapping[str, bytes]


class WritableHub(HubDouble):
    """Repositories that take commits and pull requests from whoever holds the token, each a dataset's and a model's."""

    def __init__(self) -> None:
        super().__init__()
        self.summaries: list[str] = []
        """Of every commit made."""
        self.pull_requests: list[PullRequest] = []
        self.before_commit: list[Callable[[], object]] = []
        """Each is called once, before a commit is looked at: somebody else who was faster."""
        self.lost_answers = 0
        """How many of the next commits are made, but the connection breaks before the answer."""

    def files(self, repo: str) -> dict[str, bytes]:
        """The newest state of a repository."""
        return self._commits[repo][self._sha(repo, "main")]

    def answer(self, method: str, target: str, headers: Mapping[str, str]) -> Answer:
        """The response to one request; ConnectionAbortedError closes the connection without any."""
        address = urlsplit(target)
        match = _API.fullmatch(address.path)
        if method != "POST" and not (match and match["what"] == "discussions"):
            return super().answer(method, target.replace("/api/models/", "/api/datasets/", 1), headers)
        self.requests.append(Request(method, address.path))
        if headers.get("Authorization") != f"Bearer {self.token}":
            return _refusal(HTTPStatus.UNAUTHORIZED, "Unauthorized")
        if address.path == "/api/validate-yaml":
            return _json({"warnings": [], "errors": []})
        if match is None or match["repo"] not in self._commits:
            return _refusal(HTTPStatus.NOT_FOUND, "RepoNotFound")
        answers = {"discussions": self._discussions, "preupload": self._preupload, "commit": self._commit}
        return answers[match["what"]](match["repo"], parse_qs(address.query))

    def _discussions(self, repo: str, _query: Query) -> Answer:
        common = {"author": {"name": "somebody"}, "status": "open", "isPullRequest": True}
        common |= {"createdAt": "2026-11-21T10:00:00.000Z", "repo": {"name": repo, "type": "model"}}
        titles = [one.title for one in self.pull_requests if one.repo == repo]
        found = [{"title": title, "num": number, **common} for number, title in enumerate(titles, start=1)]
        return _json({"discussions": found, "count": len(found), "start": 0})

    def _preupload(self, repo: str, _query: Query) -> Answer:
        there = {path: _git_sha(content) for path, content in self.files(repo).items()}
        asked = [file["path"] for file in json.loads(self.bodies[-1])["files"]]
        common = {"uploadMode": "regular", "shouldIgnore": False}
        return _json({"files": [{"path": path, "oid": there.get(path)} | common for path in asked]})

    def _commit(self, repo: str, query: Query) -> Answer:
        if self.before_commit:
            self.before_commit.pop(0)()
        header, *operations = map(json.loads, self.bodies[-1].splitlines())
        if header["value"]["parentCommit"] != self._sha(repo, "main"):
            return _refusal(HTTPStatus.PRECONDITION_FAILED, "StaleParent")
        added = {item["value"]["path"]: base64.b64decode(item["value"]["content"]) for item in operations}
        summary, sha, more = header["value"]["summary"], "d" * 40, {}
        if query.get("create_pr") == ["1"]:
            self.pull_requests.append(PullRequest(repo, summary, added))
            more = {"success": True, "pullRequestUrl": f"{self.url}/{repo}/discussions/{len(self.pull_requests)}"}
        else:
            sha = self.commit(repo, self.files(repo) | added)
            self.summaries.append(summary)
        if self.lost_answers:
            self.lost_answers -= 1
            raise ConnectionAbortedError
        return _json({"commitUrl": f"{self.url}/{repo}/commit/{sha}", "commitOid": sha, **more})

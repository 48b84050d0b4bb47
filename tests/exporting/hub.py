"""The writable hub of the leaderboard's tests with model repositories, which take pull requests."""

import base64
import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

from tests.doubles.hub import Answer, Request, _json, _refusal
from tests.leaderboard.hub import WritableHub

_MODEL = re.compile(r"/api/models/(?P<repo>[^/]+/[^/]+)(?P<rest>/.*)?")


class PullRequest(NamedTuple):
    """One that was opened; the repository itself is as it was."""

    repo: str
    title: str
    files: Mapping[str, bytes]


class ModelHub(WritableHub):
    """Every repository is a model's as well as a dataset's."""

    def __init__(self) -> None:
        super().__init__()
        self.pull_requests: list[PullRequest] = []

    def answer(self, method: str, target: str, headers: Mapping[str, str]) -> Answer:
        """The response to one request."""
        address = urlsplit(target)
        match = _MODEL.fullmatch(address.path)
        if match is None:
            return super().answer(method, target, headers)
        repo, rest, query = match["repo"], match["rest"] or "", parse_qs(address.query)
        if method == "GET" and rest == "/discussions":
            self.requests.append(Request(method, address.path))
            return self._discussions(repo)
        if method == "POST" and rest.startswith("/commit/") and query.get("create_pr") == ["1"]:
            self.requests.append(Request(method, address.path))
            return self._opened(repo, headers)
        return super().answer(method, target.replace("/api/models/", "/api/datasets/", 1), headers)

    def _discussions(self, repo: str) -> Answer:
        found = [
            {
                "title": one.title, "num": number, "author": {"name": "somebody"}, "status": "open", "isPullRequest": True,
                "createdAt": "2026-11-21T10:00:00.000Z", "repo": {"name": repo, "type": "model"},
            }
            for number, one in enumerate(self.pull_requests, start=1)
            if one.repo == repo
        ]  # fmt: skip
        return _json({"discussions": found, "count": len(found), "start": 0})

    def _opened(self, repo: str, headers: Mapping[str, str]) -> Answer:
        if headers.get("Authorization") != f"Bearer {self.token}":
            return _refusal(HTTPStatus.UNAUTHORIZED, "Unauthorized")
        header, *operations = map(json.loads, self.bodies[-1].splitlines())
        if header["value"]["parentCommit"] != self._sha(repo, "main"):
            return _refusal(HTTPStatus.PRECONDITION_FAILED, "StaleParent")
        files = {item["value"]["path"]: base64.b64decode(item["value"]["content"]) for item in operations}
        self.pull_requests.append(PullRequest(repo, header["value"]["summary"], files))
        number, sha = len(self.pull_requests), "d" * 40
        return _json(
            {
                "success": True,
                "commitOid": sha,
                "commitUrl": f"{self.url}/{repo}/commit/{sha}",
                "pullRequestUrl": f"{self.url}/{repo}/discussions/{number}",
            }
        )

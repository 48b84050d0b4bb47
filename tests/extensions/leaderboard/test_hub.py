"""Publishing to a hub on the loopback interface, through the real client."""

import csv
import io
import json
from datetime import UTC, datetime

import pytest
import yaml

from bigcodeflow.core.errors import PublishingError
from bigcodeflow_leaderboard.history import record_snapshot
from bigcodeflow_leaderboard.publishing import publish, repository_files

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
REPOSITORY = "acme/board"


@pytest.fixture
def snapshot(tmp_path, entry, published):
    return record_snapshot(tmp_path, [entry(), published("Nova-7B", 0.49)], NOON)


@pytest.fixture
def token(request, hub, monkeypatch):
    """Another token than the hub's."""
    monkeypatch.setenv("HF_TOKEN", request.param)
    return request.param


def test_everything_comes_in_one_commit(hub, snapshot):
    """The repository then holds every file, and what was there before; the front matter names the CSV."""
    done = publish(snapshot, REPOSITORY)
    there = hub.files(REPOSITORY)
    assert {path: there[path] for path in done.written} == repository_files(snapshot)
    assert there["notes.txt"] == b"ours to keep\n"
    [summary] = hub.summaries
    assert snapshot.name in summary
    front = yaml.safe_load(there["README.md"].decode().split("---")[1])
    assert front["configs"][0]["data_files"] == "leaderboard.csv"
    assert len(list(csv.DictReader(io.StringIO(there["leaderboard.csv"].decode())))) == 2
    assert json.loads(there[f"history/{snapshot.name}.json"])["content_sha256"] == snapshot.content_sha256


def test_only_what_differs_is_sent(hub, snapshot):
    """A file that the repository has already is no part of the commit."""
    files = repository_files(snapshot)
    hub.commit(REPOSITORY, hub.files(REPOSITORY) | {"results.json": files["results.json"]})
    assert "results.json" not in publish(snapshot, REPOSITORY).written


def test_earlier_history_stays(hub, snapshot, tmp_path, entry):
    """The next publication adds its snapshot and replaces the rest."""
    publish(snapshot, REPOSITORY)
    later = record_snapshot(tmp_path, [entry(pass_at_1=0.6)], NOON)
    publish(later, REPOSITORY)
    history = [path for path in hub.files(REPOSITORY) if path.startswith("history/")]
    assert sorted(history) == sorted(f"history/{taken.name}.json" for taken in (snapshot, later))


def test_somebody_who_was_faster_is_not_overwritten(hub, snapshot):
    """On a stale parent the repository is read again: their file stays, and ours come on top of their commit."""
    hub.before_commit.append(lambda: hub.commit(REPOSITORY, hub.files(REPOSITORY) | {"theirs.txt": b"new"}))
    publish(snapshot, REPOSITORY)
    assert sum("/commit/" in request.path for request in hub.requests) == 2
    assert hub.files(REPOSITORY)["theirs.txt"] == b"new"
    assert hub.files(REPOSITORY).items() >= repository_files(snapshot).items()


def test_a_twin_that_was_faster_leaves_nothing_to_do(hub, snapshot):
    """Where the other commit was the same leaderboard, no second one is made."""
    hub.before_commit.append(lambda: hub.commit(REPOSITORY, hub.files(REPOSITORY) | repository_files(snapshot)))
    done = publish(snapshot, REPOSITORY)
    assert (done.written, hub.summaries) == ((), [])


def test_a_busy_repository_is_given_up_at_last(hub, snapshot, monkeypatch):
    """Five stale parents end in one line, not in an endless loop."""
    monkeypatch.setattr("bigcodeflow_leaderboard.publishing._WAIT_SECONDS", 0.01)
    numbers = iter(range(9))
    others = [lambda: hub.commit(REPOSITORY, hub.files(REPOSITORY) | {f"{next(numbers)}": b""})] * 9
    hub.before_commit.extend(others)
    with pytest.raises(PublishingError, match="others changed it during each of 5 attempts: publish again"):
        publish(snapshot, REPOSITORY)
    assert hub.summaries == []


def test_an_answer_that_was_lost_is_found_again(hub, snapshot):
    """The commit went through but the connection broke: an error now, and nothing to do the next time."""
    hub.lost_answers = 1
    with pytest.raises(PublishingError, match="publish again"):
        publish(snapshot, REPOSITORY)
    assert publish(snapshot, REPOSITORY).written == ()
    assert len(hub.summaries) == 1


@pytest.mark.parametrize(
    ("repository", "token", "message"),
    [
        ("acme/nowhere", "hf_double", "acme/nowhere: is no dataset repository that this token may write to"),
        (REPOSITORY, "hf_of_somebody_else", "is no dataset repository that this token may write to"),
        ("no/such/name", "hf_double", "write it as OWNER/NAME"),
        (REPOSITORY, "hf_with a blank", "HF_TOKEN holds a blank"),
        (REPOSITORY, "hf_ümlaut", "HF_TOKEN holds"),
        (REPOSITORY, "", "set HF_TOKEN"),
    ],
    indirect=["token"],
)
def test_a_refusal_is_one_line_without_the_token(hub, snapshot, token, repository, message):
    """What is wrong and what to do; the token is in no message."""
    with pytest.raises(PublishingError, match=message) as raised:
        publish(snapshot, repository)
    assert "\n" not in str(raised.value)
    assert not token or token not in str(raised.value)
    assert hub.summaries == []


def test_a_hub_that_is_away_is_one_line(hub, snapshot):
    """Nothing answers at HF_ENDPOINT."""
    hub.stop()
    with pytest.raises(PublishingError, match=r"does not answer .*HF_ENDPOINT") as raised:
        publish(snapshot, REPOSITORY)
    assert hub.token not in str(raised.value)

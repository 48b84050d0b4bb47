"""Scores proposed to a model's repository: what a dry run shows, and pull requests through the real client."""

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries

from bigcodeflow.core.errors import ArtifactError, ConfigError, PublishingError
from bigcodeflow.results.runs import RecordedRun, find_run
from bigcodeflow_exports.model_repository import propose_eval_results
from tests.extensions.leaderboard.conftest import ALLOW, Lab
from tests.extensions.leaderboard.hub import WritableHub

REPOSITORY = "acme/nova-7b"
PATH = ".eval_results/bigcodebench-hard-complete.yaml"


@pytest.fixture
def run(lab: Lab) -> RecordedRun:
    return find_run(lab.store.root, lab.run(passing=74))


def test_a_dry_run_shows_the_file_and_asks_nobody(
    run: RecordedRun, hub: WritableHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The repository is the run's model; the hub's client reads the file; no token is needed."""
    monkeypatch.delenv("HF_TOKEN")
    proposal = propose_eval_results(run, allow=ALLOW)
    assert (proposal.repository, [*proposal.files], proposal.pull_request) == (REPOSITORY, [PATH], "")
    [entry] = parse_eval_result_entries(yaml.safe_load(proposal.files[PATH]))
    assert (entry.dataset_id, entry.task_id, entry.value) == ("bigcode/bigcodebench-hard", "complete", 50.0)
    assert hub.requests == []


def test_publishing_opens_one_pull_request(run: RecordedRun, hub: WritableHub) -> None:
    """Main stays as it was; the pull request holds the file that the dry run has shown."""
    before = hub.files(REPOSITORY)
    proposal = propose_eval_results(run, allow=ALLOW, publish=True)
    [made] = hub.pull_requests
    assert (made.repo, made.title) == (REPOSITORY, "Add BigCodeBench results: hard, complete")
    assert made.files == {PATH: proposal.files[PATH].encode()}
    assert (proposal.pull_request, proposal.is_new) == (f"{hub.url}/{REPOSITORY}/discussions/1", True)
    assert hub.files(REPOSITORY) == before


def test_an_open_pull_request_is_not_opened_twice(run: RecordedRun, hub: WritableHub) -> None:
    """The second time its address is said, and nothing is sent."""
    first = propose_eval_results(run, allow=ALLOW, publish=True)
    again = propose_eval_results(run, allow=ALLOW, publish=True)
    assert (again.pull_request, again.is_new) == (first.pull_request, False)
    assert len(hub.pull_requests) == 1


def test_results_that_are_there_are_not_proposed(run: RecordedRun, hub: WritableHub) -> None:
    """The same file in main leaves nothing to do; another content is proposed again."""
    files = propose_eval_results(run, allow=ALLOW).files
    hub.commit(REPOSITORY, hub.files(REPOSITORY) | {PATH: files[PATH].encode()})
    proposal = propose_eval_results(run, allow=ALLOW, publish=True)
    assert (proposal.pull_request, hub.pull_requests) == ("", [])
    hub.commit(REPOSITORY, hub.files(REPOSITORY) | {PATH: b"- older\n"})
    assert propose_eval_results(run, allow=ALLOW, publish=True).is_new


def test_a_score_that_the_leaderboard_refuses_is_not_proposed(lab: Lab, hub: WritableHub) -> None:
    """A part of the subset is another benchmark; a control is no model."""
    for record, reason in (
        (lab.run(tasks=["BigCodeBench/13"], passing=1), "1 of the 148 tasks"),
        (lab.run(source="oracle"), "its samples are the oracle control"),
    ):
        with pytest.raises(ArtifactError, match=reason):
            propose_eval_results(find_run(lab.store.root, record), REPOSITORY, allow=ALLOW, publish=True)
    assert hub.requests == []


def test_a_model_without_an_organisation_needs_a_repository(lab: Lab) -> None:
    """A name such as gpt-4o is no repository."""
    run = find_run(lab.store.root, lab.run("nova--main"))
    with pytest.raises(ConfigError, match=r"'nova' is not OWNER/NAME: give the model's repository with --repository"):
        propose_eval_results(run, allow=ALLOW)
    assert propose_eval_results(run, REPOSITORY, allow=ALLOW).repository == REPOSITORY


def test_a_refusal_is_one_line_without_the_token(run: RecordedRun, hub: WritableHub) -> None:
    """What is wrong and what to do; the client and its other errors are those of the leaderboard."""
    with pytest.raises(PublishingError, match="acme/nowhere: is no model repository that this token may") as raised:
        propose_eval_results(run, "acme/nowhere", allow=ALLOW, publish=True)
    assert "\n" not in str(raised.value)
    assert hub.token not in str(raised.value)
    assert hub.pull_requests == []

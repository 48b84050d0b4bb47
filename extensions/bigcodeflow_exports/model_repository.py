"""Pull request that adds a run's score as ``.eval_results`` to the model's repository on the Hugging Face Hub."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from bigcodeflow.core.errors import ConfigError
from bigcodeflow.results.runs import RecordedRun
from bigcodeflow_leaderboard.measured_entries import Allowance, entry_of
from bigcodeflow_leaderboard.outputs import card
from bigcodeflow_leaderboard.publishing import hub_api, hub_errors, missing_files

_FOLDER = ".eval_results"


class Proposal(NamedTuple):
    """Files for a model's repository, and the pull request that holds them."""

    repository: str
    files: Mapping[str, str]
    """Text of each file by its path in the repository."""
    pull_request: str = ""
    """URL of the pull request; empty after a dry run, or if the repository has the files already."""
    is_new: bool = False
    """True if this call opened the pull request; False if it was open before, or if no pull request was opened."""


def propose_eval_results(
    run: RecordedRun, repository: str = "", *, allow: Collection[Allowance] = (), publish: bool = False
) -> Proposal:
    """Propose a run's calibrated pass@1 to a model's repository; without ``publish``, only return the proposal.

    A dry run needs neither token nor network. No pull request is opened if one with the same title is open, or if the
    repository already holds the file. A score that the leaderboard would refuse is refused, with the same reasons.

    Args:
        run: recorded run whose score is proposed.
        repository: the model's repository, OWNER/NAME; empty takes the run's model.
        allow: shortcomings of the run that are accepted.
        publish: open the pull request. Needs HF_TOKEN.

    Raises:
        ArtifactError: the score is refused.
        ConfigError: ``repository`` is empty, and the run's model is not of the form OWNER/NAME.
        PublishingError: the hub refuses or does not answer.
    """
    entry = entry_of(run, allow=allow)
    if not repository and entry.model.count("/") != 1:
        raise ConfigError(f"model {entry.model!r} is not OWNER/NAME: give the model's repository with --repository")
    repository = repository or entry.model
    # One file for each subset and split, so that proposals of other scores change other files.
    path = f"{_FOLDER}/bigcodebench-{entry.subset}-{entry.split}.yaml"
    files = {path: card(entry)}
    title = f"Add BigCodeBench results: {entry.subset}, {entry.split}"
    with hub_errors(repository, "model"):
        if not publish:
            return Proposal(repository, files)
        return _propose(Proposal(repository, files), title, f"{entry.setting}. Measured by {entry.source}.")


def _propose(proposal: Proposal, title: str, description: str) -> Proposal:
    from huggingface_hub import CommitOperationAdd

    api, contents = hub_api(), {path: text.encode() for path, text in proposal.files.items()}
    parent, missing = missing_files(api, proposal.repository, "model", contents)
    if not missing:
        return proposal
    open_now = api.get_repo_discussions(
        proposal.repository, discussion_type="pull_request", discussion_status="open", repo_type="model"
    )
    before = next((one.url for one in open_now if one.title == title), "")
    if before:
        return proposal._replace(pull_request=before)
    done = api.create_commit(
        proposal.repository,
        [CommitOperationAdd(path, contents[path]) for path in missing],
        commit_message=title,
        commit_description=description,
        repo_type="model",
        create_pr=True,
        parent_commit=parent,
    )
    return proposal._replace(pull_request=done.pr_url or "", is_new=True)

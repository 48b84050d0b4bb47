"""Batches of both providers: every request is answered once or given back, whatever the provider does."""

import asyncio
import logging
import time
from dataclasses import replace
from pathlib import Path

import pytest

from bigcodeflow.core.errors import GenerationError
from bigcodeflow.generation.answer_ledger import AnswerLedger
from bigcodeflow.generation.batches import BatchOutcome, BatchProgress, BatchRun
from bigcodeflow.generation.model_api import Request
from bigcodeflow_clouds.batches.apis import BatchApi

from .conftest import ALL_DIALECTS, Run, fails_once, with_api
from .double import CREATE, KEY, Account, DroppedError, StatusError
from .driving import SETTINGS, drive, recorded, request

POLL = {
    "openai": "/v1/batches/batch_\\d+",
    "anthropic": "/v1/messages/batches/msgbatch_\\d+",
    "google": "/v1beta/batches/batch_\\d+",
    "mistral": "/v1/batch/jobs/batch_\\d+",
}
RESULTS = {
    "openai": "/v1/files/.*/content",
    "anthropic": "/v1/messages/batches/.*/results",
    "google": POLL["google"],  # they come with the batch
    "mistral": "/v1/files/.*/content",
}
TWENTY = [request(number) for number in range(20)]


def _expected(requests: list[Request]) -> list[tuple[str, int, str]]:
    return sorted(
        (one.task_id, index, f"answer to {one.prompt.text or one.prompt.messages[-1].text}")
        for one in requests
        for index in one.sample_indices
    )


def _all_answered(outcome: BatchOutcome, folder: Path, requests: list[Request]) -> None:
    assert outcome.left == ()
    assert recorded(folder) == _expected(requests)


@pytest.mark.parametrize("account", ALL_DIALECTS, indirect=True)
def test_every_request_is_answered_by_its_own_reply(account: Account, run: Run, tmp_path: Path) -> None:
    """Results come shuffled and in three batches; each is recorded for the request that it answers, once.

    A second run with the same requests does not even call the provider.
    """
    outcome = run(account, TWENTY)
    _all_answered(outcome, tmp_path, TWENTY)
    assert outcome.recorded == 20
    assert sorted(len(batch.entries) for batch in account.batches.values()) == [6, 7, 7]
    assert set(account.prompts.values()) == {1}
    assert {record.latency_seconds for record in AnswerLedger(tmp_path / "answers").records()} == {90}  # the batch's
    account.log.clear()
    assert run(account, TWENTY).recorded == 0
    assert account.log == []


@pytest.mark.parametrize("account", ALL_DIALECTS, indirect=True)
def test_what_a_batch_does_not_answer_is_left(account: Account, run: Run, tmp_path: Path) -> None:
    """Refused, expired and absent results come back as requests with their reason; the others are recorded."""
    absent = "missing" if account.dialect in {"openai", "mistral"} else "expired"
    words = ["ok", "error", "expired", "ok", absent, "ok"]
    requests = [request(number, word) for number, word in enumerate(words)]
    outcome = run(account, requests)
    left = {one.samples[0].task_id: one.error for one in outcome.left}
    assert recorded(tmp_path) == _expected([requests[0], requests[3], requests[5]])
    assert {task: error.kind for task, error in left.items()}.items() >= {("T/1", "bad_request"), ("T/2", "deadline")}
    assert set(left) == {"T/1", "T/2", "T/4"}
    assert [one.samples for one in outcome.left if one.samples[0].task_id == "T/1"] == [requests[1].keys]
    assert KEY not in repr(outcome)


def test_several_samples_of_one_request(openai_account: Account, run: Run, tmp_path: Path) -> None:
    """With n, all answers of a reply are recorded; samples that a reply lacks are left, and only they."""
    whole, short = request(0, samples=(0, 1, 2)), request(1, "short", samples=(3, 4, 5))
    outcome = run(openai_account, [whole, short])
    assert [(task, index) for task, index, _ in recorded(tmp_path)] == [("T/0", 0), ("T/0", 1), ("T/0", 2), ("T/1", 3)]
    assert [one.samples for one in outcome.left] == [replace(short, sample_indices=(4, 5)).keys]
    assert [body.get("n") for _, body in openai_account.batches["batch_1"].entries] == [3, 3]


def test_direct_prompts_go_to_text_completions(openai_account: Account, run: Run, tmp_path: Path) -> None:
    """A batch of base-model prompts names the endpoint of text completions; the account refuses a mix."""
    requests = [request(number, form="direct") for number in range(3)]
    _all_answered(run(openai_account, requests), tmp_path, requests)


def test_texts_may_hold_any_line_end(account: Account, run: Run, tmp_path: Path) -> None:
    account.answer = "a\u2028b\u2029c\x85d {prompt}"
    assert run(account, [request(0)]).left == ()
    assert recorded(tmp_path) == [("T/0", 0, "a\u2028b\u2029c\x85d task 0 [ok]")]


def test_failing_looks_are_repeated(account: Account, run: Run, tmp_path: Path) -> None:
    """Errors of polls and of results cost time only: nothing is lost, doubled or submitted again."""
    faults = [StatusError(500, "broken"), StatusError(429, "later", retry_after="0"), DroppedError()]
    hooks = [fails_once("GET", place[account.dialect], fault, times=2) for place in (POLL, RESULTS) for fault in faults]

    def before(method: str, path: str) -> None:
        for hook in hooks:
            hook(method, path)

    account.before = before
    _all_answered(run(account, TWENTY[:7]), tmp_path, TWENTY[:7])
    assert len(account.batches) == 1


def test_retry_after_is_honoured(account: Account, run: Run) -> None:
    moments: list[float] = []
    refused = fails_once("GET", POLL[account.dialect], StatusError(429, "later", retry_after="0.5"))

    def before(method: str, path: str) -> None:
        if (method, path.rpartition("_")[2]) == ("GET", "1"):
            moments.append(time.monotonic())
        refused(method, path)

    account.before = before
    run(account, [request(0)])
    assert moments[1] - moments[0] >= 0.5


@pytest.mark.parametrize("share", [0.5, -0.5])
def test_results_that_break_off_are_read_again(account: Account, run: Run, tmp_path: Path, share: float) -> None:
    """Half of the results, with or without an error at the end, are not taken for all."""
    if account.dialect == "google":
        pytest.skip("results come whole, with the batch")
    account.truncate_results = [share]
    _all_answered(run(account, TWENTY[:7]), tmp_path, TWENTY[:7])
    assert account.calls("GET", RESULTS[account.dialect]) == 2


@pytest.mark.parametrize(
    ("hook", "fault"),
    [
        ("after", StatusError(500, "broken")),
        ("after", DroppedError()),
        pytest.param("before", StatusError(429, "later"), marks=pytest.mark.slow),
        pytest.param("before", StatusError(500, "broken"), marks=pytest.mark.slow),
        pytest.param("before", DroppedError(), marks=pytest.mark.slow),
    ],
)
def test_a_submission_without_an_answer_is_not_repeated_blindly(
    account: Account, run: Run, tmp_path: Path, hook: str, fault: Exception
) -> None:
    """A batch that was taken although its answer was lost is found in the account instead of being paid twice.

    What the account does not hold is submitted again, once it is certain.
    """
    setattr(account, hook, fails_once("POST", CREATE[account.dialect], fault, times=2))
    _all_answered(run(account, TWENTY[:7]), tmp_path, TWENTY[:7])
    assert set(account.prompts.values()) == {1}


def test_a_slow_look_does_not_end_the_doubt(account: Account, run: Run, tmp_path: Path) -> None:
    """A batch that arrives while the list is on its way is found by the next look, not submitted again."""
    lost, create = [], CREATE[account.dialect]

    def after(method: str, path: str) -> None:
        if method == "POST" and path == create:
            lost.append(account.batches.popitem())
            raise DroppedError
        if method == "GET" and lost:
            time.sleep(2 * SETTINGS.doubt_seconds)
            account.batches.update([lost.pop()])

    account.after = after
    _all_answered(run(account, TWENTY[:7]), tmp_path, TWENTY[:7])
    assert set(account.prompts.values()) == {1}


def test_others_batches_are_distinguished_from_a_lost_one(anthropic_account: Account, run: Run, tmp_path: Path) -> None:
    """Batches of the same size and time are waited for, since only their results say whose they are."""
    account, messages = anthropic_account, []
    seven = [(f"other-{number}", {"model": "m", "messages": [{"content": "x"}]}) for number in range(7)]
    stranger = account.add(seven)
    smaller = account.add([("other-0", {"model": "m", "messages": [{"content": "x"}]})], polls=10**6)

    def after(method: str, path: str) -> None:
        if method == "POST":
            account.add(seven, polls=0)
            raise DroppedError

    account.after = after
    _all_answered(run(account, TWENTY[:7], notify=messages.append), tmp_path, TWENTY[:7])
    assert len(account.batches) == 4
    assert stranger.id in messages[0]
    assert smaller.id not in messages[0]


def test_a_lost_batch_is_found_behind_many_others(account: Account, run: Run, tmp_path: Path) -> None:
    for number in range(230):
        account.add([(f"other-{number}", {"model": "m", "messages": [{"content": "x"}]})], polls=0)

    def lost(method: str, path: str) -> None:
        if method == "POST" and path == CREATE[account.dialect]:
            for number in range(130):
                account.add([(f"later-{number}", {"model": "m", "messages": [{"content": "x"}]})], polls=0)
            account.after = lambda _method, _path: None
            raise DroppedError

    account.after = lost
    _all_answered(run(account, TWENTY[:5]), tmp_path, TWENTY[:5])
    assert account.prompts["task 0 [ok]"] == 1


def test_a_rejected_batch_is_left_with_the_reason(openai_account: Account, run: Run, tmp_path: Path) -> None:
    openai_account.reject = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}
    outcome = run(openai_account, TWENTY[:3])
    assert [one.samples for one in outcome.left] == [one.keys for one in TWENTY[:3]]
    assert {one.error.kind for one in outcome.left} == {"rate_limited"}
    assert "Enqueued token limit reached" in str(outcome.left[0].error)


def test_a_wrong_key_ends_the_run_with_one_line(
    account: Account, run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The error names the key's trouble and not the key, which is in no log and no file either.

    The next run submits at once instead of looking for a batch that never was.
    """
    caplog.set_level(logging.DEBUG)
    account.key = "another"
    with pytest.raises(GenerationError, match="401") as caught:
        run(account, TWENTY[:3], key=KEY)
    assert "\n" not in str(caught.value)
    account.key = KEY
    account.log.clear()
    run(account, [*TWENTY[:3], request(3, "error")])
    assert account.calls("GET", CREATE[account.dialect]) == 0
    held = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    shown = str(caught.value) + repr(caught.value.__context__) + repr(caught.value.__cause__) + caplog.text
    assert KEY not in held + shown


def test_a_server_without_batches_is_named(account: Account, run: Run) -> None:
    """Compatible servers often have no batch API: the message says which setting to change."""
    account.before = fails_once("POST", ".*", StatusError(404, "Not Found"), times=9)
    with pytest.raises(GenerationError, match=r"generation\.requests\.batch"):
        run(account, [request(0)])


def _interrupted(account: Account, folder: Path, requests: list[Request]) -> list[str]:
    """Cancel a run while its batches are worked on, and return what its user is told."""
    messages: list[str] = []

    def under_way() -> bool:
        handed_in = account.prompts.total() == len(requests)
        return handed_in and account.calls("GET", POLL[account.dialect]) > 2 * len(account.batches)

    async def work(api: BatchApi) -> None:
        running = asyncio.create_task(drive(api, folder, requests, notify=messages.append))
        while not (under_way() or running.done()):  # noqa: ASYNC110 -- the account has threads of its own
            await asyncio.sleep(0.01)
        running.cancel()
        await running

    account.polls = 10**6
    with pytest.raises(asyncio.CancelledError):
        with_api(account, work)
    return messages


def test_an_unknown_batch_is_not_silently_paid_again(account: Account, run: Run, tmp_path: Path) -> None:
    """Another account's key does not make the first account's batch lost: the run stops and says what can be done."""
    _interrupted(account, tmp_path, TWENTY[:3])
    account.batches.clear()
    with pytest.raises(GenerationError, match=r"does not know batch (msg)?batch_1.*batches\.jsonl"):
        run(account, TWENTY[:3])
    assert account.batches == {}


def test_an_interruption_leaves_batches_running(account: Account, run: Run, tmp_path: Path) -> None:
    """Ctrl-C ends the run at once, names what goes on and how to collect it; the next run does."""
    (message,) = _interrupted(account, tmp_path, TWENTY)
    assert all(batch_id in message for batch_id in account.batches)
    assert "run the same again" in message
    for batch in account.batches.values():
        batch.polls_left = 1
    _all_answered(run(account, TWENTY), tmp_path, TWENTY)
    assert set(account.prompts.values()) == {1}


def test_more_requests_join_batches_that_are_under_way(account: Account, run: Run, tmp_path: Path) -> None:
    """A later run submits only what no batch holds; one that wants less leaves the rest to be collected later."""
    _interrupted(account, tmp_path, TWENTY[:7])
    next(iter(account.batches.values())).polls_left = account.polls = 1
    _all_answered(run(account, TWENTY[5:12]), tmp_path, TWENTY[5:12])
    _all_answered(run(account, TWENTY), tmp_path, TWENTY)
    assert set(account.prompts.values()) == {1}


def test_what_a_cancelled_batch_gave_back_may_be_batched_again(account: Account, run: Run, tmp_path: Path) -> None:
    """A request that one batch gave back goes into the next run's batch; the first one's other answers still count."""
    cancelled, answered = request(1, "slow"), request(2)
    _interrupted(account, tmp_path, [cancelled, answered])
    for batch in account.batches.values():  # as a user does on the provider's pages
        batch.cancelled, batch.polls_left = True, 1
    assert [one.samples for one in run(account, [cancelled]).left] == [cancelled.keys]
    account.polls = 1
    _all_answered(run(account, [cancelled, answered]), tmp_path, [cancelled, answered])
    assert account.prompts == {"task 1 [slow]": 2, "task 2 [ok]": 1}


def test_progress_counts_batches_and_samples(openai_account: Account, tmp_path: Path) -> None:
    """The counts only grow, and end with everything submitted and completed or failed; requests may hold several."""
    seen: list[BatchProgress] = []
    requests = [request(0, samples=(0, 1, 2)), *TWENTY[1:], request(20, "error")]
    run = BatchRun(tmp_path, print, progress=seen.append)
    with_api(openai_account, lambda api: api.run(requests, run, SETTINGS))
    assert seen[-1] == BatchProgress(batches=3, batches_ended=3, completed=22, failed=1)
    assert [one.completed for one in seen] == sorted(one.completed for one in seen)


def test_a_provider_that_stays_silent_ends_the_run(account: Account, run: Run, tmp_path: Path) -> None:
    """After its patience the run stops with one line; the batch goes on and is collected later."""
    account.before = fails_once("GET", POLL[account.dialect], StatusError(503, "full"), times=10**6)
    with pytest.raises(GenerationError, match=r"has not answered .* for 0 s.*batch_1.*run the same again"):
        run(account, TWENTY[:3], settings=replace(SETTINGS, patience_seconds=0.2))
    account.before = lambda _method, _path: None
    run(account, TWENTY[:3])
    assert recorded(tmp_path) == _expected(TWENTY[:3])
    assert len(account.batches) == 1

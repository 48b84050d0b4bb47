"""Flaky or broken: who is executed again, what several executions come to, and which known verdicts answer."""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bigcodeflow.execution.evaluation import judge
from bigcodeflow.execution.executor import Executor
from bigcodeflow.execution.ledger import Ledger
from bigcodeflow.execution.planning import Planned
from bigcodeflow.execution.reruns import CONFIRMATIONS, ONCE, RerunPolicy, disputed_keys, worth_another_round
from bigcodeflow.execution.workers import Workers
from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host.base import Outcome
from bigcodeflow.judge.items import Origin

from .conftest import CONFIG, RIGHT, item

GROUND_TRUTHS = RerunPolicy(confirms_ground_truths=True)
STATUSES = st.sampled_from(["pass", "fail", "timeout", "crash", "tampered", "out_of_memory", "syntax_error"])
POLICIES = st.one_of(st.just(GROUND_TRUTHS), st.builds(RerunPolicy, reruns=st.integers(0, 6)))


def execution(status: str, number: int = 0, **others: object) -> dict:
    return {
        "verdict_key": "key", "status": status, "flaky": None, "attempts": 1, "exit": "exit 0", "number": number,
    } | others  # fmt: skip


def played(policy: RerunPolicy, statuses: list[str]) -> tuple[dict, list[dict]]:
    """The verdict when executions end like this one after the other, and the executions that were made."""
    made = [execution(statuses[0])]
    while policy.wants_another(made):
        made.append(execution(statuses[len(made)], len(made)))
    return policy.settled(made), made


@given(POLICIES, st.lists(STATUSES, min_size=8, max_size=8))
def test_passes_are_not_made_by_asking_often(policy: RerunPolicy, statuses: list[str]) -> None:
    """A sample is a pass at once or by a majority of its executions; ties and everything else keep the failure."""
    found, made = played(policy, statuses)
    passes = [one["status"] for one in made].count("pass")
    assert found["attempts"] == len(made) <= 1 + max(policy.reruns, CONFIRMATIONS)
    assert (found["flaky"] is None) == (len(made) == 1)
    if found["flaky"] is not None:
        assert found["flaky"] == (len({one["status"] for one in made}) > 1)
    if policy.confirms_ground_truths:
        assert (found["status"] == "pass") == (passes > 0)
    else:
        assert len(made) == (1 + policy.reruns if statuses[0] not in ("pass", "syntax_error") else 1)
        assert (found["status"] == "pass") == (2 * passes > len(made))
    assert found["number"] in [one["number"] for one in made if one["status"] == found["status"]]


@given(POLICIES, st.lists(STATUSES, min_size=8, max_size=8))
def test_a_settled_verdict_is_not_executed_again(policy: RerunPolicy, statuses: list[str]) -> None:
    """What a stage wrote before it was killed stands; what another run found may stand in only if it is no chance."""
    found, _ = played(policy, statuses)
    assert policy.settles(found)
    if policy.answers(found) and not policy.confirms_ground_truths:
        assert not found["flaky"]


@pytest.mark.parametrize(
    ("policy", "verdict", "answers"),
    [
        (ONCE, execution("fail"), True),
        (ONCE, execution("fail", flaky=False, attempts=3), True),
        (ONCE, execution("pass", flaky=True, attempts=3), False),
        (ONCE, execution("infra_error"), False),
        (RerunPolicy(2), execution("pass"), True),
        (RerunPolicy(2), execution("syntax_error"), True),
        (RerunPolicy(2), execution("fail"), False),
        (RerunPolicy(2), execution("fail", flaky=False, attempts=2), False),
        (RerunPolicy(2), execution("fail", flaky=False, attempts=3), True),
        (RerunPolicy(2), execution("fail", flaky=True, attempts=3), False),
        (RerunPolicy(2, disputed=frozenset(["key"])), execution("pass"), False),
        (GROUND_TRUTHS, execution("fail"), False),
        (GROUND_TRUTHS, execution("fail", flaky=False, attempts=3), True),
        (GROUND_TRUTHS, execution("fail", flaky=True, attempts=3), False),
        (GROUND_TRUTHS, execution("pass", flaky=True, attempts=2), True),
        (GROUND_TRUTHS, execution("timeout"), True),
    ],
)
def test_who_may_answer_for_whom(policy: RerunPolicy, verdict: dict, *, answers: bool) -> None:
    """One execution answers a run without reruns; with reruns, a failure must have been repeated as often."""
    assert policy.answers(verdict) is answers


def test_a_known_disagreement_is_executed_again_even_when_it_passes() -> None:
    """A pass that failed on another night is put to the vote, and the vote can take it away."""
    known = [execution("pass"), execution("fail"), execution("pass", verdict_key="other")]
    policy = RerunPolicy(2, disputed=disputed_keys([*known, execution("infra_error", verdict_key="other")]))
    assert policy.disputed == {"key"}
    assert played(policy, ["pass", "fail", "fail"])[0]["status"] == "fail"
    assert played(policy, ["pass", "pass", "pass"])[0] | {"number": 0} == execution("pass", flaky=False, attempts=3)
    assert disputed_keys([execution("fail", flaky=True)]) == {"key"}


@given(POLICIES, st.lists(STATUSES, max_size=2))
def test_an_infra_error_ends_the_vote_and_is_no_fail(policy: RerunPolicy, before: list[str]) -> None:
    """Executions that could not be judged leave the sample unjudged, to be tried again."""
    made = [execution(status) for status in (*before, "infra_error")]
    assert not policy.wants_another(made)
    found = policy.settled(made)
    assert (found["status"], found["flaky"]) == ("infra_error", None)
    assert not policy.settles(found)
    assert worth_another_round(found | {"exit": "signal 9"})
    assert not worth_another_round(found)  # the harness came to its end: the environment lacks a library


COIN = "import random\ndef task_func():\n    return random.choice([41, 42])\n"


@pytest.fixture
def where(workers: Workers, starter_environment: InstalledEnvironment) -> dict[str, object]:
    """Workers that every test shares."""
    return {"config": CONFIG, "environment": starter_environment, "workers": workers}


def _planned(programs: list[str]) -> list[Planned]:
    origins = [Origin(f"T/{number}", "calibrated", 0) for number in range(len(programs))]
    made = enumerate(zip(programs, origins, strict=True))
    return [Planned(replace(item(one), verdict_key=f"{number:064}", origin=of), "none") for number, (one, of) in made]


@pytest.mark.slow
@pytest.mark.sandbox
@pytest.mark.filterwarnings("default")
def test_reruns_find_what_is_flaky(where: dict[str, object], tmp_path: Path) -> None:
    """Coins that came up wrong first are flaky or unlucky; a pass is left alone; what is broken fails every time."""
    programs = [RIGHT, "def task_func():\n    return 41\n", "def task_func(:\n", *[f"{COIN}# {n}" for n in range(24)]]
    planned = _planned(programs)
    table, statistics = judge([planned], policy=RerunPolicy(reruns=4), ledger_folder=tmp_path / "a.partial", **where)
    right, wrong, broken, *coins = table.to_pylist()
    assert (right["status"], right["flaky"], right["attempts"]) == ("pass", None, 1)
    assert (wrong["status"], wrong["flaky"], wrong["attempts"]) == ("fail", False, 5)
    assert (broken["status"], broken["flaky"], broken["attempts"]) == ("syntax_error", None, 1)
    assert {(one["attempts"], one["flaky"]) for one in coins} <= {(1, None), (5, True), (5, False)}
    assert any(one["flaky"] for one in coins)  # none of 24: once in four million runs
    assert statistics["executed"] == len(planned)


def test_what_is_disturbed_is_executed_five_times_at_most(
    starter_environment: InstalledEnvironment, tmp_path: Path
) -> None:
    """A sandbox that reports nothing says nothing of the sample, however often."""
    executed: list[object] = []
    silent = SimpleNamespace(name="local", execute=lambda work: executed.append(work) or Outcome(exit="exit 1"))
    found = Executor(CONFIG, starter_environment).judge(silent, item(RIGHT), ONCE)
    assert (found["status"], found["attempts"], len(executed)) == ("infra_error", 5, 5)


@pytest.mark.sandbox
@pytest.mark.filterwarnings("default")
def test_recorded_verdicts_that_disagree_are_put_to_the_vote(where: dict[str, object], tmp_path: Path) -> None:
    """With reruns, a pass that another run recorded as a failure is executed as often as the vote needs."""
    planned = _planned([RIGHT])
    [right] = judge([planned], ledger_folder=tmp_path, **where)[0].to_pylist()
    for recorded, reruns, attempts in (([right], 2, 1), ([right, right | {"status": "fail"}], 2, 3)):
        where |= {"ledger_folder": tmp_path / f"{len(recorded)}.partial"}
        policy = RerunPolicy(reruns)
        table, _ = judge([planned], policy=policy, known=lambda _, recorded=recorded: recorded, **where)
        assert table.select(["status", "attempts"]).to_pylist() == [{"status": "pass", "attempts": attempts}]


@pytest.mark.sandbox
@pytest.mark.filterwarnings("default")
def test_what_was_lost_is_tried_again_in_the_same_run(where: dict[str, object], tmp_path: Path) -> None:
    """An infra_error that an interrupted run left is executed, and one whose library is missing stays what it is."""
    planned = _planned([RIGHT, "import needed\n" + RIGHT])
    folder = tmp_path / "stage.partial"
    folder.mkdir()
    lost = execution("infra_error", verdict_key=planned[0].item.verdict_key, exit="worker lost")
    Ledger(folder).append(lost)
    table, statistics = judge([planned], ledger_folder=folder, **where)
    assert table["status"].to_pylist() == ["pass", "infra_error"]
    assert (statistics["executed"], statistics["infra_errors"]) == (1, 1)
    missing = [line for line in Ledger(folder).read() if line["verdict_key"] == planned[1].item.verdict_key]
    assert len(missing) == 1

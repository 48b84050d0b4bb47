"""Wrong solutions with a trick: none is believed, none disturbs a neighbour, and each trick is a real one."""

import json
from collections import Counter
from itertools import chain, cycle
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.attacks.conftest import Judged, Sample, TimedJudge, selected, shared_out
from tests.attacks.reading import TASKS_FOLDER, Exhibit, exhibit_of, read_task

from .conftest import Attack, attacks

# The first test of a kind of sandbox waits for all verdicts.
pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(1800)]

ATTACKS = attacks()
EACH = pytest.mark.parametrize("attack", shared_out(ATTACKS, every=6))
TASKS = {path.stem: exhibit_of(read_task(path.stem)) for path in sorted(TASKS_FOLDER.glob("*.py"))}
#: Neither a pass, nor an infra_error: a program that earns one of these would be executed again and again.
CAUGHT = {"fail", "tampered", "crash", "timeout", "out_of_memory", "syntax_error"}
_COLD_SHARE = 5
_FOOLING = [attack for attack in ATTACKS if attack.fools != "harness-only"]
_EVALUATED_TOGETHER = 12
_NAIVE_EVALUATOR = (Path(__file__).parent / "naive_evaluator.py").read_text()
_NAIVE_TASK = Exhibit("", "import unittest\nclass TestCases(unittest.TestCase):\n    def test_nothing(self): pass\n")


class Battle(NamedTuple):
    """Attacks and the honest solutions that were executed at the same time."""

    attacked: dict[str, Judged]
    """By name."""
    neighbours: list[tuple[str, Judged]]
    """Each with its task."""


@pytest.fixture(scope="module")
def battle(request: pytest.FixtureRequest, judge: TimedJudge, is_warm: bool) -> Battle:  # noqa: FBT001 -- a fixture
    """Judge every attack together with an honest solution; where samples start cold, which is slower, every fifth."""
    chosen = selected(request, "attack") if is_warm else ATTACKS[::_COLD_SHARE]
    names = [name for _, name in zip(chosen, cycle(TASKS), strict=False)]
    pairs = [
        (Sample(f"{TASKS[name].program}\n# {attack.name}", TASKS[name]), Sample(attack.program, attack.task))
        for name, attack in zip(names, chosen, strict=True)
    ]
    found = judge(list(chain.from_iterable(pairs)))
    attacked = dict(zip((attack.name for attack in chosen), found[1::2], strict=True))
    return Battle(attacked, list(zip(names, found[::2], strict=True)))


@pytest.fixture(scope="module")
def afterwards(judge: TimedJudge, battle: object) -> dict[str, dict]:
    """Judge the plain wrong solutions after all attacks; verdicts by program."""
    assert battle
    plain = {attack.without_trick: attack.task for attack in ATTACKS}
    return dict(zip(plain, (one.verdict for one in judge(list(map(Sample, plain, plain.values())))), strict=True))


@EACH
def test_no_attack_passes(battle: Battle, attack: Attack) -> None:
    """The wrong solution gets no pass, unless its header says why it may."""
    if attack.name not in battle.attacked:
        pytest.skip("every fifth is executed cold as well")
    found = battle.attacked[attack.name].verdict
    assert found["status"] in CAUGHT | ({"pass"} if attack.trick.field("through") else set()), found


@pytest.mark.parametrize("task", TASKS)
def test_no_attack_disturbs_a_neighbour(battle: Battle, task: str) -> None:
    """The honest solution of each task passes while attacks run, and is not accused."""
    executions = [one for name, one in battle.neighbours if name == task]
    assert executions
    for one in executions:
        suspects = [name for name, attack in battle.attacked.items() if one.overlaps(attack)]
        assert (one.verdict["status"], one.verdict["tampering"]) == ("pass", []), (suspects, one.verdict)


@EACH
def test_without_its_trick_the_program_is_wrong(afterwards: dict, attack: Attack) -> None:
    """It is the trick that would pass, not the solution: taken away, an assertion fails and nothing is flagged."""
    plain = afterwards[attack.without_trick]
    assert (plain["status"], plain["failure_kind"], plain["tampering"]) == ("fail", "assertion", []), plain


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack.threat == 10], ids=lambda one: one.name)
def test_nothing_is_left_for_the_next_sample(afterwards: dict, attack: Attack) -> None:
    """After an attack on what samples could share, the plain wrong solution fails as before."""
    plain = afterwards[attack.without_trick]
    assert (plain["status"], plain["tampering"]) == ("fail", []), plain


@pytest.fixture(scope="module")
def evaluated(judge: TimedJudge) -> dict[str, tuple[list[str], str]]:
    """Let an evaluator without defences judge the attacks: by name, the ways in which it is convinced, and errors."""
    samples = []
    for start in range(0, len(_FOOLING), _EVALUATED_TOGETHER):
        together = _FOOLING[start : start + _EVALUATED_TOGETHER]
        cases = [(attack.name, attack.program, attack.task.test) for attack in together]
        call = f"\nfound = {{case[0]: believed(*case) for case in {cases!r}}}\n"
        samples.append(Sample(f"{_NAIVE_EVALUATOR}{call}import json\nprint(json.dumps(found))\n", _NAIVE_TASK))
    outputs = [one.verdict["stdout"] for one in judge.unchecked(samples)]
    return {name: found for output in outputs for name, found in json.loads(output).items()}


@pytest.mark.slow  # it says something about the programs, and nothing about the judge
@pytest.mark.parametrize("attack", _FOOLING, ids=[attack.name for attack in _FOOLING])
def test_the_trick_fools_an_unguarded_evaluator(evaluated: dict, attack: Attack) -> None:
    """An evaluator without defences believes the program in the way that its header states: the suite has teeth."""
    convinced, errors = evaluated[attack.name]
    assert attack.fools in convinced, errors


def test_every_threat_is_carried_out_in_several_ways() -> None:
    """Each numbered threat has three programs at least, sixty in all, each with a known task and a stated effect."""
    threats = Counter(attack.threat for attack in ATTACKS)
    assert sorted(threats) == list(range(1, 11))
    assert min(threats.values()) >= 3
    assert len(ATTACKS) >= 60
    assert {attack.fools for attack in ATTACKS} == {"in-process", "exit-code", "harness-only"}
    assert {attack.task.test for attack in ATTACKS} <= {task.test for task in TASKS.values()}
    assert all(attack.program.startswith(f'"""Threat {attack.threat}: ') for attack in ATTACKS)
    assert sum(bool(attack.trick.field("through")) for attack in ATTACKS) <= len(ATTACKS) / 50
    assert all(any(attack.trick.pieces.values()) for attack in ATTACKS)

"""Wrong solutions with a trick: none is believed, none disturbs a neighbour, and each trick is a real one."""

import json
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.attacks.conftest import TASKS_FOLDER, Exhibit, JudgeIn, read_exhibit

from .conftest import Attack, attacks

pytestmark = pytest.mark.sandbox

ATTACKS = attacks()
EACH = pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])
TASKS = sorted(TASKS_FOLDER.glob("*.py"))
#: Neither a pass, nor an infra_error: a program that earns one of these would be executed again and again.
CAUGHT = {"fail", "tampered", "crash", "timeout", "out_of_memory", "syntax_error"}
_COLD_SHARE = 5
#: What is said of the programs alone holds until they change: of so many attacks `make check` looks at one, `make
#: check-long` at all.
_PROGRAM_SHARE = 3
NAIVE_EVALUATOR = (Path(__file__).parent / "naive_evaluator.py").read_text()
NAIVE_TASK = Exhibit(
    "", "import unittest\nclass TestCases(unittest.TestCase):\n    def test_evaluated(self):\n        self.assertTrue(convinced is not None)\n"
)  # fmt: skip


def _in_shares(attacks: Sequence[Attack]) -> pytest.MarkDecorator:
    """Every third attack by itself, the others marked as long."""
    chosen = [
        pytest.param(attack, id=attack.name, marks=[pytest.mark.long] if number % _PROGRAM_SHARE else [])
        for number, attack in enumerate(attacks)
    ]
    return pytest.mark.parametrize("attack", chosen)


@pytest.fixture(autouse=True)
def _some_cold(request: pytest.FixtureRequest) -> None:
    """Leave most attacks out where samples start cold: that costs ten times as much, and judges alike."""
    parameters = request.node.callspec.params if hasattr(request.node, "callspec") else {}
    attack = parameters.get("attack")
    if attack and parameters.get("attacked_backend") is False and ATTACKS.index(attack) % _COLD_SHARE:
        pytest.skip("every fifth is executed cold as well")


@EACH
def test_no_attack_passes_or_disturbs_its_neighbour(judge_in: JudgeIn, attack: Attack) -> None:
    """The wrong solution gets no pass, unless its header says why it may, and an honest neighbour passes."""
    task = attack.task
    with ThreadPoolExecutor(2) as pool:
        neighbour = pool.submit(judge_in, task.program, task)
        attacked = pool.submit(judge_in, attack.program, task).result()
    assert attacked["status"] in CAUGHT | ({"pass"} if attack.field("through") else set()), attacked
    assert (neighbour.result()["status"], neighbour.result()["tampering"]) == ("pass", [])


@pytest.mark.slow  # it says something about the programs, and nothing about the judge
@_in_shares(ATTACKS)
def test_without_its_trick_the_program_is_wrong(judge_in: JudgeIn, attack: Attack) -> None:
    """It is the trick that would pass, not the solution: taken away, an assertion fails and nothing is flagged."""
    plain = judge_in(attack.without_trick, attack.task)
    assert (plain["status"], plain["failure_kind"], plain["tampering"]) == ("fail", "assertion", []), plain


@pytest.mark.slow
@_in_shares([attack for attack in ATTACKS if attack.field("fools") != "harness-only"])
def test_the_trick_fools_an_unguarded_evaluator(judge_in: JudgeIn, attack: Attack) -> None:
    """An evaluator without defences believes the program in the way that its header states: the suite has teeth."""
    call = f"\nconvinced, errors = believed({attack.program!r}, {attack.task.test!r})\n"
    report = "import json\nprint(json.dumps([convinced, errors[-2000:]]))\n"
    found = judge_in(NAIVE_EVALUATOR + call + report, NAIVE_TASK)
    convinced, errors = json.loads(found["stdout"])
    assert attack.field("fools") in convinced, errors


def test_every_threat_is_carried_out_in_several_ways() -> None:
    """Each numbered threat has three programs at least, sixty in all, each with a known task and a stated effect."""
    threats = Counter(attack.threat for attack in ATTACKS)
    assert sorted(threats) == list(range(1, 11))
    assert min(threats.values()) >= 3
    assert len(ATTACKS) >= 60
    assert {attack.field("fools") for attack in ATTACKS} == {"in-process", "exit-code", "harness-only"}
    assert {attack.field("task") for attack in ATTACKS} == {path.stem for path in TASKS}
    assert all(attack.program.startswith(f'"""Threat {attack.threat}: ') for attack in ATTACKS)
    assert sum(bool(attack.field("through")) for attack in ATTACKS) <= len(ATTACKS) / 50
    assert all(attack.without_trick.rstrip() != attack.program.rstrip() for attack in ATTACKS)


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.stem)
def test_the_honest_solution_of_each_task_passes(judge_in: JudgeIn, path: Path) -> None:
    """The tasks that are attacked can be solved."""
    task = read_exhibit(path)
    found = judge_in(task.program, task)
    assert (found["status"], found["tampering"]) == ("pass", []), found


@pytest.mark.parametrize("attack", [attack for attack in ATTACKS if attack.threat == 10], ids=lambda one: one.name)
def test_nothing_is_left_for_the_next_sample(judge_in: JudgeIn, attack: Attack) -> None:
    """After an attack on what samples could share, the plain wrong solution fails as before."""
    judge_in(attack.program, attack.task)
    after = judge_in(attack.without_trick, attack.task)
    assert (after["status"], after["tampering"]) == ("fail", []), after

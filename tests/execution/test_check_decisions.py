"""Decisions about passing programs: the table of docs/sandbox.md, and the chances of programs that act by chance."""

import random
from collections.abc import Callable
from itertools import product

import pytest

from bigcodeflow.judge.integrity import checks, offences
from bigcodeflow.judge.integrity.altered_tests import AlteredTest, disguise, mixed, units, without_methods
from bigcodeflow.judge.integrity.checks import TAMPERED, CheckResult
from bigcodeflow.judge.integrity.contradictions import FORMS, SEPARATED, Reference, Variant
from bigcodeflow.judge.integrity.mixtures import guess_probability, look_alikes, mixtures, texts_needed
from tests.doubles.written_tests import outcome, suite

from .conftest import item

_ROUND = {
    "as a correct program": [],
    "fails a true method": [{"kind": "restatement", "test": "test_a", "line": 1, "before": "2", "after": "(1 + 1)"}],
    "does not end": [{"kind": "end", "test": "", "line": 0, "before": "killed: wall time", "after": ""}],
    "fails separately": [{"kind": "separate", "test": "test_a", "line": 0, "before": "", "after": ""}],
    "passes a false method": [{"kind": "contradiction", "test": "test_b", "line": 2, "before": "2", "after": "3"}],
}
_NAMES = tuple(f"test_{name}" for name in "abcde")
_FIVE = suite(
    "".join(
        f"def test_{name}(self):\n    self.assertEqual(task_func({n}), {n + 1})\n" for n, name in enumerate("abcde")
    )
)


def _expected(rounds: tuple[str, ...], genuine: tuple[str, ...]) -> str:
    """Read the result out of the table, row by row."""
    if rounds.count("passes a false method") >= 2:
        return "tampered"
    if rounds.count("as a correct program") >= 2:
        return "pass"
    if "fail" in genuine:
        return "fail"
    return "pass" if "as a correct program" in rounds else "tampered"


@pytest.mark.parametrize("genuine", list(product(("pass", "fail", "infra_error"), repeat=3)))
def test_every_combination_has_the_result_of_the_table(genuine: tuple[str, ...]) -> None:
    """All outcomes of three rounds and of three executions against the task's own test."""
    for rounds in product(_ROUND, repeat=3):
        found = checks._decision([_ROUND[one] for one in rounds], [{"status": one} for one in genuine])
        result = "pass" if found is None else "fail" if found.instead else found.integrity
        assert result == _expected(rounds, genuine), rounds
        assert found is None or found.instead or (found.integrity == TAMPERED and found.tampering)


def _variants(text: str, form: int = 0) -> tuple[Variant, Variant]:
    task = {"task_id": "T/0", "test": text, "entry_point": "task_func"}
    reference = Reference(task, lambda program, test: item(program or "", test, expected=_NAMES), "")
    texts = [disguise(text, "task_func", kind, variant=form) for kind in ("contradiction", "restatement")]
    false, true = (
        Variant(reference, number, "", one, tuple(each._asdict() for each in one.alterations))
        for number, one in enumerate(texts)
    )
    return false, true


def _plan(false: Variant, true: Variant, program: str = "x") -> checks._Plan:
    separated = Variant(false.reference, SEPARATED, "", AlteredTest(_FIVE, ()))
    passed = checks.Pass(item(program, false.reference.task["test"], expected=_NAMES), false.reference)
    return checks._Plan(passed, ((false, true),), separated)


def test_each_choice_of_false_methods_is_equally_likely() -> None:
    """Never all and never none, so that neither lying nor despairing passes; a guess of five methods has 1 in 30."""
    false, true = _variants(_FIVE)
    chance = random.Random(3)
    drawn = [
        frozenset(one["test"] for one in mixture.alterations if one["kind"] == "contradiction")
        for _ in range(1_000)
        for mixture in mixtures(((false, true),), 1, chance)
    ]
    assert len(set(drawn)) == 30
    assert {len(one) for one in drawn} == {1, 2, 3, 4}
    assert max(map(drawn.count, set(drawn))) < 60


def test_a_correct_program_passes_exactly_the_true_methods() -> None:
    false, true = _variants(_FIVE)
    for seed in range(20):
        [mixture] = mixtures(((false, true),), 1, random.Random(seed))
        expected = {one["test"]: "pass" if one["kind"] == "restatement" else "fail" for one in mixture.alterations}
        assert outcome(mixture.text, "def task_func(n):\n    return n + 1\n") == expected
        assert len(expected) == 5
        assert not any(line in mixture.text for line in _FIVE.splitlines() if "assert" in line)


@pytest.mark.parametrize("equal", ["other % 25 == 0 or other == {n}", "abs(other - {n}) < 5"])
def test_an_object_that_equals_several_numbers_is_found(equal: str) -> None:
    """Most equalities count equal values among several, of which a correct result equals one at most."""
    false, true = _variants(_FIVE)
    chance, texts, shown = random.Random(5), [], 0
    for _ in range(30):
        texts += mixtures(((false, true),), 1, chance)
    assert sum(".count(" in one.text for one in texts) == len(texts)
    for text in texts:
        for method in text.alterations:
            result = ord(method["test"][-1]) - ord("a") + 1
            lenient = f"class Any:\n    def __eq__(self, other): return {equal.format(n=result)}\n"
            found = outcome(text.text, f"{lenient}def task_func(n): return Any()\n")[method["test"]]
            shown += found != ("pass" if method["kind"] == "restatement" else "fail")
            assert method["kind"] == "restatement" or method["before"] not in method["after"].split(", ")[1:]
    assert shown > len(texts)


def test_a_count_of_equal_values_shows_nothing_of_the_right_value() -> None:
    """The wrong values are drawn in the same way whichever value is right, so that no text gives it away."""
    pairs = [
        _variants(suite(f"def test_a(self):\n    self.assertEqual(task_func(1), {right})\n")) for right in (2, 9_999)
    ]
    drawn: list[set[str]] = []
    for false, _ in pairs:
        texts = [mixtures(((false, false),), 1, random.Random(seed))[0] for seed in range(200)]
        values = [one["after"].removeprefix("one of ").split(", ") for text in texts for one in text.alterations]
        drawn.append({value for stated, *wrong in values for value in wrong if abs(int(value) - int(stated)) > 9})
    small, large = drawn
    near = {str(value) for centre in (2, 9_999) for value in range(centre - 40, centre + 40)}
    assert small ^ large <= near


@pytest.mark.parametrize("count", range(3, 9))
def test_each_method_is_true_once_and_false_in_each_form(count: int) -> None:
    """So that a forgery which a single form of a single method shows is not missed by chance."""
    pairs, seen = tuple(_variants(_FIVE, form) for form in range(FORMS)), set()
    for seed in range(40):
        texts = mixtures(pairs, count, random.Random(seed))
        assert len(texts) == count
        for name in _NAMES:
            own = [one for text in texts for one in text.alterations if one["test"] == name]
            false = {one["after"] for one in own if one["kind"] == "contradiction"}
            assert len(false) >= FORMS
            assert any(one["kind"] == "restatement" for one in own)
            seen.add(tuple(one["kind"] for one in own))
    assert len(seen) == min(len(seen), 2**count - 2 - count)
    assert count > 5 or len(seen) == 2**count - 2 - count


def test_of_two_texts_each_method_is_false_in_one_or_both() -> None:
    pairs, seen = tuple(_variants(_FIVE, form) for form in range(FORMS)), []
    for seed in range(40):
        first, second = mixtures(pairs, 2, random.Random(seed))
        kinds = [{one["test"]: one["kind"][0] for one in text.alterations} for text in (first, second)]
        seen += [kinds[0][name] + kinds[1][name] for name in _NAMES]
    assert set(seen) == {"cc", "cr", "rc"}


def test_a_single_method_is_executed_both_ways() -> None:
    pair = _variants(suite("def test_a(self):\n    self.assertEqual(task_func(1), 2)\n"))
    assert texts_needed((pair,), 1, 0.005) == 2
    kinds = [one["kind"] for mixture in mixtures((pair,), 8, random.Random(0)) for one in mixture.alterations]
    assert len(kinds) == 8
    assert {"contradiction", "restatement"} == set(kinds)


def test_a_method_that_cannot_be_restated_is_executed_falsely_alone() -> None:
    false, true = _variants(suite("def test_a(self):\n    self.assertEqual(task_func(1), 2)\n"))
    true.alterations = ()
    found = [one for seed in range(9) for one in mixtures(((false, true),), 2, random.Random(seed))]
    assert {tuple(one["kind"] for one in mixture.alterations) for mixture in found} == {("contradiction",)}
    false.alterations = ()
    assert mixtures(((false, true),), 2, random.Random(0)) == []


@pytest.mark.parametrize(
    ("methods", "probability", "texts"),
    [
        (1, 0.005, 8),
        (2, 0.005, 5),
        (3, 0.005, 4),
        (4, 0.005, 4),
        (5, 0.005, 2),
        (12, 0.005, 2),
        (1, 0.001, 10),
        (5, 0.001, 4),
    ],
)
def test_so_many_texts_make_a_guess_unlikely(methods: int, probability: float, texts: int) -> None:
    names = "abcdefghijkl"[:methods]
    pair = _variants(
        suite("".join(f"def test_{one}(self):\n    self.assertEqual(task_func('{one}'), '{one}')\n" for one in names))
    )
    assert texts_needed((pair,), 99, probability) == texts
    assert guess_probability(methods, texts) <= probability


def test_methods_that_share_a_contradicted_helper_are_false_together() -> None:
    text = suite(
        "def check(self, given):\n    self.assertTrue(given > 0)\n"
        "def test_a(self):\n    self.check(task_func(1))\ndef test_b(self):\n    self.check(task_func(2))\n"
    )
    found = disguise(text, "task_func", "contradiction", variant=0)
    assert units(found) == [frozenset({"test_a", "test_b"})]
    assert mixed(text, "task_func", [(found.alterations[0].line, found.text)]) == found.text


def test_a_program_that_acts_by_chance_does_not_pass() -> None:
    """It forges every method or none, by a coin for each execution: an offence, unless all methods have one pattern."""
    false, true = _variants(_FIVE)
    chance = random.Random(1)
    plan, unnoticed = _plan(false, true), 0
    for _ in range(400):
        results = [(one, "pass" if chance.random() < 0.5 else "fail") for one in plan.checks(chance)]
        unnoticed += not any(
            offences.offences(
                check.alterations,
                {
                    "status": result,
                    "exit": "exit 0",
                    "module_trace": "",
                    "tests": [{"name": name, "outcome": result, "trace": ""} for name in _NAMES],
                },
            )
            for check, result in results
        )
    assert unnoticed < 8


def test_a_guess_of_each_method_seldom_passes() -> None:
    """Two texts of five methods are a choice in 243; slow tests are executed with one text."""
    false, true = _variants(_FIVE)
    chance = random.Random(2)
    plan = _plan(false, true)
    passed = 0
    for _ in range(500):
        guesses = [{name: "pass" if chance.random() < 0.5 else "fail" for name in _NAMES} for _ in plan.checks(chance)]
        assert len(guesses) == 2
        passed += all(
            all(guess[one["test"]] == ("pass" if one["kind"] == "restatement" else "fail") for one in check.alterations)
            for guess, check in zip(guesses, plan.checks(chance), strict=True)
        )
    assert passed < 8
    true.seconds = (9.0,) * 5
    assert len(plan.checks(chance)) == 1


def _reference(seconds: tuple[float, ...]) -> Reference:
    return Reference({"expected_tests": _NAMES}, lambda program, test: item(program or "", test), "", seconds)


@pytest.mark.parametrize(
    ("seconds", "least", "most"),
    [((), 5, 5), ((0.4,) * 5, 5, 5), ((0.01, 0.01, 0.01, 9.0, 9.0), 2, 4), ((9.0,) * 5, 2, 2), ((9.0,) * 2, 2, 5)],
)
def test_a_check_of_a_slow_test_takes_a_quarter_of_its_time_and_two_methods(
    seconds: tuple[float, ...], least: int, most: int
) -> None:
    """Each method is drawn at times, so that none can be forged in safety."""
    groups, chance = [frozenset({name}) for name in _NAMES], random.Random(4)
    draws = [_reference(seconds).drawn(groups, chance) for _ in range(100)]
    assert least <= min(map(len, draws)) <= max(map(len, draws)) <= most
    assert {group for draw in draws for group in draw} == set(groups)


@pytest.mark.parametrize(("seconds", "executed"), [((), 0), ((4.0,) * 5, 0), ((9.0,) * 5, 2), ((99.0,) * 2, 0)])
def test_a_validating_execution_takes_twenty_seconds_or_two_methods(seconds: tuple[float, ...], executed: int) -> None:
    assert _reference(seconds).stop_after == executed


def test_the_text_of_a_slow_test_holds_the_drawn_methods_alone() -> None:
    """All are decided as in the whole text, on the same lines."""
    false, true = _variants(_FIVE)
    slow = _reference((9.0,) * 5)._replace(task={**false.reference.task, "expected_tests": _NAMES})
    false.reference = true.reference = slow
    seen = set()
    for seed in range(40):
        [mixture] = mixtures(((false, true),), 1, random.Random(seed))
        expected = {one["test"]: "pass" if one["kind"] == "restatement" else "fail" for one in mixture.alterations}
        assert outcome(mixture.text, "def task_func(n):\n    return n + 1\n") == expected
        assert mixture.tests == tuple(sorted(expected))
        assert mixture.text.count("\n") == _FIVE.count("\n")
        assert sorted(one["kind"] for one in mixture.alterations) == ["contradiction", "restatement"]
        seen |= set(expected)
    assert seen == set(_NAMES)


def test_methods_are_left_out_with_their_decorators() -> None:
    text = suite(
        "@unittest.skipIf(False, 'never')\ndef test_a(self):\n    pass\n"
        "def helper(self):\n    pass\nasync def test_b(self):\n    pass\ndef test_c(self):\n    self.helper()\n"
    )
    reduced = without_methods(text, {"test_a", "test_b", "helper"})
    assert outcome(reduced, "") == {"test_c": "pass"}
    assert "skipIf" not in reduced
    assert reduced.splitlines().index("    def test_c(self):") == text.splitlines().index("    def test_c(self):")


_CLEANING = suite(
    "".join(
        f"def test_{name}(self):\n    self.assertEqual(task_func({n}), {n * 700})\n    LEFT.clear()\n"
        for n, name in enumerate("abcde")
    )
)
_REFERENCE = "LEFT = []\ndef task_func(n):\n    return n * 700\n"
_LEAVING = "LEFT = []\ndef task_func(n):\n    LEFT.append(n)\n    return LEFT[0] * 700\n"


def _verdict(outcomes: dict[str, str]) -> dict:
    return {
        "status": "pass" if set(outcomes.values()) == {"pass"} else "fail",
        "exit": "exit 0",
        "module_trace": "",
        "tests": [{"name": name, "outcome": one, "trace": ""} for name, one in outcomes.items()],
    }


def _confirmed(program: str, outcomes: Callable[[str], dict[str, str]], chance: random.Random) -> CheckResult | None:
    """Decide about a suspected program, whose ``outcomes`` with a test text are given."""
    plan = _plan(*_variants(_CLEANING), program)
    steps = checks._confirmed(plan, chance)
    items = next(steps)
    try:
        while True:
            verdicts = {
                one.verdict_key: _verdict(outcomes(one.test) if one.program else outcome(one.test, _REFERENCE))
                for one in items
            }
            items = steps.send(verdicts)
    except StopIteration as end:
        return end.value


def test_texts_that_look_alike_differ_in_values_alone() -> None:
    """Each method is false once in each form, alone; in five texts no method is."""
    pairs = tuple(_variants(_FIVE, form) for form in range(FORMS))
    texts = look_alikes(pairs, random.Random(2))
    false = [[one["test"] for one in text.alterations if one["kind"] == "contradiction"] for text in texts]
    assert all({one["test"] for one in text.alterations} == set(_NAMES) for text in texts)
    assert sorted(false) == sorted([[]] * 5 + [[name] for name in _NAMES] * FORMS)
    for _, true in pairs:
        true.alterations = ()
    assert look_alikes(pairs, random.Random(2)) == []


def test_what_a_false_method_leaves_behind_accuses_nobody() -> None:
    """The program passes a method only if the one before it came to its last line, which clears what it left."""
    assert set(outcome(_CLEANING, _LEAVING).values()) == {"pass"}
    for seed in range(10):
        plan, chance = _plan(*_variants(_CLEANING), _LEAVING), random.Random(seed)
        rounds = [check for turn in range(3) for check in plan.checks(chance, turn)]
        outcomes = [(check, outcome(check.item.test, _LEAVING)) for check in rounds]
        assert any(check.offences(_verdict(one)) for check, one in outcomes)
        assert _confirmed(_LEAVING, lambda text: outcome(text, _LEAVING), chance) is None


def test_a_program_that_fails_true_methods_by_itself_is_accused() -> None:
    """It fails them in texts without a false method, too."""
    outcomes = dict.fromkeys(_NAMES, "fail")
    for seed in range(10):
        found = _confirmed(
            "x", lambda text: outcomes if text != _CLEANING else outcome(text, _REFERENCE), random.Random(seed)
        )
        assert found
        assert found.integrity == TAMPERED


@pytest.mark.parametrize("share", [0.3, 0.5, 0.6, 0.75])
def test_forging_all_methods_by_chance_is_accused(share: float) -> None:
    """It forges all methods of a text or none, whatever it fails before; fewer than 1 in 100 are not accused."""
    chance, passed = random.Random(7), 0
    for _ in range(200):
        found = _confirmed(
            "x",
            lambda text: dict.fromkeys(_NAMES, "pass" if text == _CLEANING or chance.random() < share else "fail"),
            chance,
        )
        passed += found is None
    assert passed < 2


def test_a_forged_method_is_found_although_the_program_fails_what_follows_a_failure() -> None:
    """As if it met what was left behind: the method is false alone too, and must fail then."""

    def outcomes(text: str) -> dict[str, str]:
        found = outcome(text, _REFERENCE)
        for place, name in enumerate(_NAMES):
            if "fail" in [found[one] for one in _NAMES[:place]]:
                found[name] = "fail"
            if name == "test_c":
                found[name] = "pass"
        return found

    for seed in range(10):
        found = _confirmed("x", outcomes, random.Random(seed))
        assert found
        assert found.integrity == TAMPERED

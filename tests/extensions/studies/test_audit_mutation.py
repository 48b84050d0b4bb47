"""Mutants: what is changed, what is left out, and that nothing depends on chance."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigcodeflow_studies.audit.mutation import Mutants, mutants_of
from tests.extensions.studies.conftest import loaded_tasks


def made(body: str, *, parameters: str = "x", most: int = 500, seed: int = 0) -> Mutants:
    prompt = f"def task_func({parameters}):\n"
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return mutants_of(prompt + lines, 2, "task_func", most=most, seed=seed)


def changes(body: str, **settings: str) -> set[tuple[str, str]]:
    return {(one.before, one.after) for one in made(body, **settings).chosen}


@pytest.mark.parametrize(
    ("body", "before", "after"),
    [
        ("return x < 3", "x < 3", "((x) <= (3))"),
        ("return x == 3", "x == 3", "((x) != (3))"),
        ("return x + 1", "x + 1", "((x) - (1))"),
        ("return x and y", "x and y", "((x) or (y))"),
        ("if x:\n    return 1", "x", "(not (x))"),
        ("return 7", "7", "8"),
        ("return 'a'", "'a'", "'aq'"),
        ("return x, 1", "x, 1", "(1, x)"),
        ("return x", "x", "(None)"),
        ("x.append(1)\nreturn x", "x.append(1)", "pass"),
        ("x = sorted(x)\nreturn x", "x = sorted(x)", "pass"),
        ("return sorted(x)", "sorted(x)", "(x)"),
        ("return x.strip()", "x.strip()", "(x)"),
        ("return x.mean()", "mean", "median"),
        ("return x.lower()", "lower", "upper"),
        ("return sum(x)", "sum", "max"),
        ("return divmod(x, y)", "x, y", "y, x"),
        ("return sorted(x, reverse=True)", ", reverse=True", ""),
        ("raise ValueError('no')", "ValueError", "KeyError"),
        ("for y in x:\n    print(y)", "x", "(list(x)[1:])"),
        ("return [y for y in x if y]", "y", "(True)"),
    ],
)
def test_each_operator_changes_what_it_is_for(body: str, before: str, after: str) -> None:
    """One small fault in one place."""
    assert (before, after) in changes(body)


def test_defaults_of_the_function_are_changed_and_nothing_else_of_the_prompt() -> None:
    """The prompt is given to the model; how the function behaves without an argument is a requirement of it."""
    found = made("return x", parameters="x, n=3")
    assert {(one.before, one.operator) for one in found.chosen if one.line == 1} == {("3", "default")}


def test_changes_that_mean_the_same_are_left_out() -> None:
    """A change that folds to the same constant, and the second of two alike, say nothing of a test."""
    assert ("2 + 0", "((2) - (0))") not in changes("return 2 + 0")
    assert made("return 2 + 0").equivalent
    body = "if not x:\n    return 1\nreturn 2"
    assert len([one for one in made(body).chosen if one.operator == "negated condition"]) == 1


def test_arguments_whose_order_means_nothing_or_ends_every_call_are_not_swapped() -> None:
    """That a test notices such a change, or does not, says nothing of it."""
    calls = "isinstance(x, y), hasattr(x, 'a'), max(x, y), random.uniform(x, y), divmod(x, y)"
    found = made(f"return {calls}").chosen
    assert [(one.line, one.after) for one in found if one.operator == "swapped arguments"] == [(2, "y, x")]


@pytest.mark.parametrize(
    "body",
    [
        "print('done')",
        "logging.info('x %s', x)",
        "raise ValueError('text')",
        "ax.set_title('title')",
        "plt.figure(figsize=(1, 2))",
        "return x.plot(title='t')",
        "random.seed(3)",
        "f(x, random_state=3)",
        "x.close(timeout=3)",
    ],
)
def test_what_tests_do_not_observe_is_set_apart(body: str) -> None:
    """A test that lets the text of a log pass is not too weak; nor do tests see messages, looks, seeds, clean-up."""
    constants = [one for one in made(body).chosen if one.operator == "constant"]
    assert constants
    assert all(one.apart for one in constants)


def test_the_data_of_a_plot_is_observed() -> None:
    """What is plotted belongs to the task, other than how it looks."""
    assert not [one for one in made("ax.bar(x, 3)\nreturn ax").chosen if one.apart]


def test_keywords_of_plots_are_set_apart_of_plots_only() -> None:
    """The alpha of a regression is no transparency."""
    assert not [one for one in made("return Lasso(alpha=3).fit(x)").chosen if one.apart]
    assert [one for one in made("x.hist(alpha=3)").chosen if one.apart]
    assert [one for one in made("ax2.step(x, alpha=3)").chosen if one.apart]


@pytest.mark.slow
def test_mutants_compile_differ_and_keep_their_lines() -> None:
    """A mutant that does not compile is noticed by every test; evidence names lines of the reference program."""
    for task in loaded_tasks()[::6]:
        prompt, program = task["complete_prompt"], task["complete_prompt"] + task["canonical_solution"]
        found = mutants_of(program, prompt.count("\n") + 1, task["entry_point"], most=30, seed=0)
        assert len(found.chosen) == min(30, found.possible) >= 20, task["task_id"]
        assert len({one.program for one in found.chosen} | {program}) == len(found.chosen) + 1
        for one in found.chosen:
            ast.parse(one.program)
            assert one.program.count("\n") == program.count("\n")
            assert one.statement[0] <= one.line <= one.statement[1]


@given(seed=st.integers(0, 10**6), most=st.integers(1, 40))
@settings(max_examples=30)
def test_the_same_seed_chooses_the_same_mutants(seed: int, most: int) -> None:
    """At most so many, in the order of lines."""
    body = "total = 0\nfor y in x:\n    if y > 3 and y < 9:\n        total += y * 2\nreturn total, len(x)"
    found = made(body, most=most, seed=seed)
    assert found == made(body, most=most, seed=seed)
    assert len(found.chosen) == min(most, found.possible)
    assert [one.line for one in found.chosen] == sorted(one.line for one in found.chosen)


@given(text=st.text(max_size=60))
def test_any_text_has_mutants_or_none(text: str) -> None:
    """A dataset of somebody else must not end the audit of all others."""
    assert mutants_of(text, 1, "task_func", most=5, seed=0) is not None

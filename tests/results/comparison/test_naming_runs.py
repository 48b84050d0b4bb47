"""Which run a name means, and how a comparison names its runs in every output."""

from functools import partial

import pytest

from bigcodeflow.cli.compare import compare
from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.results.comparison.pairs import Method
from bigcodeflow.results.comparison.run_selection import open_runs
from bigcodeflow.results.runs import find_run

QUICK = Method(rounds=100)


@pytest.fixture
def call(command):
    """Compares runs in a terminal of 120 columns."""
    return partial(command, compare, 120, "--rounds", "200")


def test_a_run_s_own_name_wins_over_a_later_run_s_model(runs, outcomes):
    """A run called nova is meant by 'nova', whatever a later run of model nova is called."""
    wanted = runs.add("nova", outcomes("+"), model="other")
    runs.add("another", outcomes("-"), model="nova")
    assert find_run(runs.root, "nova").record == wanted


def test_different_runs_of_a_model_are_listed_and_none_is_taken(runs, outcomes):
    """The error names each with its record, subset, split and day; a record or a title then chooses."""
    first = runs.add("a", outcomes("+"), model="org--nova--main")
    second = runs.add("b", outcomes("-"), model="org--nova--main", split="instruct")
    with pytest.raises(ArtifactError) as caught:
        find_run(runs.root, "org/nova")
    message = str(caught.value)
    assert "2 runs fit 'org/nova'" in message
    assert f"{first}  org/nova · full · complete, 2026-01-01 00:00" in message
    assert f"{second}  org/nova · full · instruct, 2026-01-01 00:00" in message
    assert find_run(runs.root, "org/nova · full · instruct").record == second
    assert find_run(runs.root, first).record == first


def test_of_one_run_that_was_repeated_the_latest_counts(runs, outcomes):
    """The same name, model and board is the same run, done again; on another board the name is ambiguous."""
    runs.add("a", outcomes("+"))
    assert find_run(runs.root, "a").record != (again := runs.add("a", outcomes("-")))
    assert find_run(runs.root, "a").record == again
    runs.add("a", outcomes("+"), split="instruct")
    with pytest.raises(ArtifactError, match="2 runs fit 'a'"):
        find_run(runs.root, "a")


def test_a_record_is_found_by_its_beginning_and_by_its_elided_form(runs, outcomes):
    """What a table shows of a long record can be copied from it."""
    record = runs.add("a-long-name-of-a-run", outcomes("+"))
    assert find_run(runs.root, record[:5]).record == record
    assert find_run(runs.root, f"{record[:5]}…{record[-3:]}").record == record


@pytest.fixture
def six(runs, outcomes):
    """Six runs of models with long names, as imports of the original's files are called."""
    lines = ("+" * 12, "+-" * 6, "-" * 12, "++-" * 4, "+--" * 4, "-+" * 6)
    models = [f"org--a-model-with-a-long-name-{number}-Instruct--main" for number in range(len(lines))]
    stem = "{}--bigcodebench-complete--vllm-0-1-sanitized_calibrated"
    return [
        runs.add(stem.format(model), outcomes(line), model=model) for model, line in zip(models, lines, strict=True)
    ]


def test_six_runs_fit_a_screen(call, six):
    """No more than 50 lines of 120 columns hold scores, differences, ratings and records; --all has all 15 pairs."""
    lines = call(*six).splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 120
    shown = "\n".join(lines)
    for number, record in enumerate(six, start=1):
        assert f"#{number} org/a-model-with-a-long-name-{number - 1}-Instruct · full · complete" in shown
        assert record[:12] in shown
        assert record[-6:] in shown
    assert "--all" in shown
    assert "--format json" in shown
    shown = call(*six, "--all")
    assert shown.count("mcnemar") == 15
    assert "ties left out" in shown


def test_more_runs_than_a_matrix_has_room_for_are_set_against_the_best(call, runs, outcomes):
    """Nine runs: eight pairs with the best one instead of 36, and of several k the first."""
    lines = [outcomes("+" * n + "-" * (9 - n)) for n in range(9)]
    names = [runs.add(f"m{n}", {task: [one, one] for task, one in line.items()}) for n, line in enumerate(lines)]
    shown = call(*names, "--k", "1,2")
    assert "Differences from #9 in pass@1" in shown
    assert shown.count(" vs #9") == 8


def test_two_subsets_are_compared_and_not_ranked(runs, outcomes, call):
    """On the tasks in common the difference stands; ratings, matrix and best run would rank across boards."""
    names = [runs.add(name, outcomes(line)) for name, line in (("a", "++++++++"), ("b", "--------"))]
    config = {"dataset": {"split": "complete", "subset": "hard"}}
    names.append(runs.add("c", outcomes("++--++--"), config=config))
    found = runs.compare(*names, method=QUICK)
    assert len(found.pairs) == 3
    assert (found.ratings, found.ratings_without_ties) == (None, None)
    assert any("not ranked: c · hard · complete: hard · complete; the others: full" in note for note in found.notes)
    shown = call(*names)
    assert "row minus column" not in shown
    assert "rank " not in shown
    assert "#1 vs #3" in shown


def test_variants_of_one_run_are_told_apart(runs, outcomes):
    """What differs stands behind the title that both share."""
    record = runs.add("a", outcomes("+-"), raw=outcomes("--"))
    found = runs.compare(record, f"{record}@raw", method=QUICK)
    assert [run.label for run in found.runs] == ["a · full · complete · calibrated", "a · full · complete · raw"]
    assert any("differ in variant" in note for note in found.notes)
    assert found.pairs[0].difference == pytest.approx(0.5)
    runs.add("b@v2", outcomes("+-"), raw=outcomes("--"))
    chosen = open_runs(runs.root, ["b@v2", "b@v2@parity@raw"])
    assert [(run.variant, run.sanitizer) for run in chosen] == [("calibrated", "parity"), ("raw", "parity")]

"""What a report says of several runs beside one another, and of one run's samples by themselves."""

import html
import re

import pytest

from bigcodeflow.report import comparisons, select_runs, write_report
from tests.report.conftest import drawn


def record(recorded, lines, *, texts=None, **more):
    """A run a name and line such as '+-': which of the tasks Demo/0, Demo/1, … pass."""
    names = []
    for name, line in lines.items():
        run = recorded.tables()
        for number, sign in enumerate(line):
            run.task(f"Demo/{number}", domains=["Math"], libs=[f"lib{one}" for one in range(number % 3)])
            run.rows["tasks"][-1] |= {"hard": number % 2 == 0, **(texts or {})}
            run.sample(f"Demo/{number}", {"+": "pass", "-": "fail", "!": "infra_error"}[sign])
        names.append(recorded.record(run, model=name, run=name, **more))
    return select_runs(recorded.root, names)


def sections(runs):
    """By name; the comparison is the one that a report makes."""
    made = comparisons.comparison_sections(comparisons.compared(runs, comparisons.lead_runs(runs)))
    return {section.name: section for section in made}


def shown_sections(path):
    """Markup of a written report's sections by heading."""
    found = re.findall(r"<section aria-labelledby=.*?</section>", path.read_text(), re.DOTALL)
    return {html.unescape(re.search(r"<h2[^>]*>(.*?)</h2>", part)[1]): part for part in found}


def cells(section):
    """Rows as text by heading."""
    headings = [column.heading for column in section.table.columns]
    return [dict(zip(headings, row, strict=True)) for row in section.table.texts()]


def test_two_runs_have_their_difference_with_interval_and_verdict(recorded):
    """The better run stands first; difference, interval, p and the verdict are those of the comparison."""
    runs = record(recorded, {"poor": "-" * 12, "good": "+" * 12})
    found = sections(runs)
    [row] = cells(found["differences"])
    assert row["pair"] == "good vs poor"
    assert row["difference, points"] == "+100.0"
    assert row["verdict"] == "good is better"
    assert row["p"] == "< 0.001"
    low, high = map(float, row["95 % interval"].split(" to "))
    assert 0 < low < high == 100
    assert "good vs poor" in drawn(found["differences"])
    assert "significance" not in found


@pytest.mark.slow
def test_three_runs_have_a_matrix_and_ratings(recorded):
    """Every pair stands in the matrix with a star where it is significant; ratings have intervals of ratings and ranks."""
    runs = record(recorded, {"poor": "-" * 12, "fair": "+-" * 6, "good": "+" * 12})
    found = sections(runs)
    [first, _, last] = map(list, found["significance"].table.rows)
    assert first == ["good · full · complete", "", "+50.0", "+100.0 *"]
    assert last == ["poor · full · complete", "-100.0 *", "-50.0", ""]
    assert "+100.0*" in drawn(found["significance"])
    ratings = cells(found["ratings"])
    assert [(row["rank"], row["run"]) for row in ratings] == [
        (str(rank), f"{name} · full · complete") for rank, name in enumerate(("good", "fair", "poor"), start=1)
    ]
    assert all(re.fullmatch(r"-?\d+ to -?\d+", row["95 % interval"]) for row in ratings)
    assert "one tie was added" in found["ratings"].lead
    assert {"good", "fair", "poor"} <= set(drawn(found["ratings"]).split())


def test_differences_by_slice_have_every_slice_of_hard_domain_libraries_and_length(recorded):
    """Two runs also get a chart; each slice has its own tasks and interval."""
    runs = record(recorded, {"a": "+-" * 12, "b": "-+" * 12})
    section = sections(runs)["differences-by-slice"]
    rows = {row["slice"]: row for row in cells(section)}
    assert rows["subset: hard"]["difference, points"] == "+100.0"
    assert rows["subset: not hard"]["difference, points"] == "-100.0"
    assert rows["domain: Math"]["tasks"] == "24"
    assert {name for name in rows if name.startswith("libraries")} == {"libraries: 0", "libraries: 1", "libraries: 2"}
    assert len([name for name in rows if name.startswith("length")]) == 4
    assert "subset: hard" in drawn(section)


@pytest.mark.slow
def test_a_sweep_is_drawn_against_its_best_run_and_listed_whole(recorded):
    """Of seven runs the table has all 21 pairs, the chart six; slices of so many runs are left to fewer."""
    runs = record(recorded, {f"m{n}": "+" * (2 * n) + "-" * (14 - 2 * n) for n in range(7)})
    found = sections(runs)
    assert len(found["differences"].table.rows) == 21 > comparisons.MOST_PAIRS
    names = {point["name"] for point in found["differences"].chart["data"]["values"]}
    assert names == {f"m6 vs m{n}" for n in range(6)}
    assert "differences-by-slice" not in found


@pytest.mark.slow
def test_no_section_mixes_two_boards(recorded):
    """Complete and instruct runs have sections of their own, named after their board, and no rank in common."""
    runs = record(recorded, {"a": "+-+-", "b": "++--"}) + record(recorded, {"c": "+-+-", "d": "----"}, split="instruct")
    shown = shown_sections(write_report(runs, recorded.root / "report.html").path)
    boards = {"full · complete": {"a", "b"}, "full · instruct": {"c", "d"}}
    of_board = {board: {} for board in boards}
    for heading, part in shown.items():
        if heading != "Records":
            title, _, board = heading.partition(" · ")
            of_board[board][title] = part
    for board, parts in of_board.items():
        others = set("abcd") - boards[board]
        for part in parts.values():
            assert not [name for name in others if re.search(rf'(>|"|&#34;|vs ){name}( · | vs|<|"|&#34;)', part)]
    assert ["a vs b" in of_board[board]["Differences"] for board in boards] == [True, False]
    assert ["1 of 4" in parts["Solved by none"] for parts in of_board.values()] == [True, False]


def test_runs_without_a_common_task_stand_beside_one_another(recorded):
    """The report is written all the same, and says why it compares nothing."""
    runs = record(recorded, {"a": "+-"}, texts={"test": "one"}) + record(recorded, {"b": "+-"}, texts={"test": "two"})
    assert "Not compared: the runs have no task in common" in sections(runs)["differences"].lead


@pytest.mark.slow
@pytest.mark.parametrize(
    ("samplings", "lines", "x_title"),
    [
        ([{"temperature": 0.2}, {"temperature": 0.8}], {"model"}, "temperature"),
        (
            [{"temperature": t, "top_p": p} for t in (0.2, 0.5, 0.8) for p in (0.9, None)],
            {"top p 0.9", "top p default"},
            "temperature",
        ),
    ],
)
def test_a_grid_stands_beside_itself(recorded, samplings, lines, x_title):
    """Runs of one model in the order of their settings, and a line for each combination of the other parameters."""
    runs = []
    for number, sampling in enumerate(reversed(samplings)):
        run = recorded.tables()
        for task in range(4):
            run.task(f"Demo/{task}")
            run.sample(f"Demo/{task}", "pass" if task <= number else "fail")
        runs.append(recorded.record(run, model="model", run=f"run{number}", sampling=sampling))
    section = sections(select_runs(recorded.root, runs))["grid-a"]
    assert [row["temperature"] for row in cells(section)] == [f"{sampling['temperature']:g}" for sampling in samplings]
    assert {point["run"] for point in section.chart["data"]["values"]} == lines
    assert x_title in drawn(section)


def test_a_grid_of_words_has_a_table_and_no_curve(recorded):
    """Efforts have no place on an axis of numbers."""
    runs = [recorded.record_one(run=effort, sampling={"reasoning_effort": effort}) for effort in ("low", "high")]
    section = sections(select_runs(recorded.root, runs))["grid-a"]
    assert [row["reasoning effort"] for row in cells(section)] == ["high", "low"]
    assert section.chart is None


def test_rates_are_those_of_all_samples(recorded):
    """Also of those that were not judged; what is not known is a dash."""
    runs = record(recorded, {"a": "+-!-", "b": "++++"})
    notes = sections(runs)["differences"].table.notes
    assert any("1 samples of a · full · complete were not judged" in note for note in notes)
    rates = cells(comparisons.rates(comparisons.lead_runs(runs)))
    assert (rates[0]["not judged"], rates[0]["refused"]) == ("25.0 %", "-")


def test_traits_part_one_runs_tasks(recorded):
    """Hard and the rest, number of libraries and quarters by length, each with its interval over its tasks."""
    runs = record(recorded, {"a": "+-" * 12})
    section = comparisons.traits(runs, comparisons.lead_runs(runs))
    rows = {row["what"]: row for row in cells(section)}
    assert (rows["hard"]["score"], rows["not hard"]["score"]) == ("100.0 %", "0.0 %")
    assert rows["libraries: 2"]["tasks"] == "8"
    assert rows["prompt length, quarter 1 (shortest)"]["tasks"] == "6"
    assert "hard" in drawn(section)


def test_variants_of_a_run_are_paired(recorded):
    """Calibrated against raw on the same samples; a run with one variant has nothing to pair."""
    run = recorded.tables()
    for number in range(12):
        run.task(f"Demo/{number}")
        run.sample(f"Demo/{number}", variants=("calibrated", "raw"))
    for row in run.rows["verdicts"]:
        row["status"] = "pass" if row["variant"] == "calibrated" else "fail"
    recorded.record(run)
    [row] = cells(comparisons.variants(select_runs(recorded.root, ["run"])))
    assert row["difference, points"] == "+100.0"
    assert row["run"] == "some-model · full · complete"
    assert row["pair"] == "calibrated, parity vs raw, parity"
    assert comparisons.variants(record(recorded, {"a": "+-"})) is None


def test_tasks_that_all_solve_and_that_none_solves_are_two_lists(recorded):
    """Each leads to its samples; an unjudged task is in neither, and an empty list says so."""
    found = sections(record(recorded, {"a": "++-!-", "b": "+---+"}))
    assert [row["task"] for row in cells(found["all-solved"])] == ["Demo/0"]
    assert [row["task"] for row in cells(found["unsolved"])] == ["Demo/2"]
    assert "1 of 5 common tasks" in found["unsolved"].lead
    assert found["all-solved"].table.rows[0][0].href == "#view=samples&q=Demo%2F0"
    none = sections(record(recorded, {"c": "+", "d": "-"}))
    assert [none[name].table.rows for name in ("all-solved", "unsolved")] == [[], []]
    assert "0 of 1 common tasks" in none["all-solved"].lead

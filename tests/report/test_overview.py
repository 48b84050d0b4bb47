import json
import re

import pytest
import vl_convert

from bigcodeflow.core.table import Cell
from bigcodeflow.report import charts, overview, select_runs
from bigcodeflow.report.runs import opened
from bigcodeflow.results.models import rows_of
from tests.report.conftest import drawn


def _sweep(recorded, n_models, *, n_tasks=20, **record):
    names = []
    for model in range(n_models):
        run = recorded.tables()
        for number in range(n_tasks):
            run.task(f"Demo/{number}", domains=["Math"], libs=["math", f"lib{number % 3}"])
            run.sample(f"Demo/{number}", "pass" if number <= model * 2 else "fail")
        names.append(recorded.record(run, model=f"model-{model}", run=f"r{model}", **record))
    return select_runs(recorded.root, names)


def test_scores_state_interval_ground_truths_and_what_was_not_judged(one_run):
    """One row a score; an unjudged sample makes it provisional, in the row and in a note."""
    section = overview.scores(select_runs(one_run.root, ["first"]))
    [row] = section.table.rows
    cells = dict(zip([column.heading for column in section.table.columns], row, strict=True))
    assert cells["value"] == Cell("50.0 % provisional", "warning")
    assert cells["95 % interval"] == "0.3 to 99.7"
    assert cells["judgeable"] == "100.0 % of 1"
    assert cells["ground truths"] == "66.7 %"
    assert cells["not judged"] == Cell(1, "bad")
    assert any("provisional" in note for note in section.table.notes)


@pytest.mark.parametrize("n_models", [2, pytest.param(9, marks=pytest.mark.slow)])
def test_domains_are_drawn_for_few_runs_and_for_many(recorded, n_models):
    """Few runs get dots with whiskers in a colour each, many a heat map; every run is named in both."""
    runs = _sweep(recorded, n_models)
    words = drawn(overview.by_traits(runs)[0])
    assert all(run.label in words for run in runs)
    assert "Math" in words


def test_the_score_chart_has_the_best_run_on_top(recorded):
    """Rows come in the order of the scores, with the score's place on a scale of percent."""
    runs = _sweep(recorded, 3)
    assert re.findall(r"model-\d", drawn(overview.scores(runs)))[:3] == ["model-2", "model-1", "model-0"]


def test_failures_lead_to_their_samples(recorded):
    """Every count is a link to exactly the samples that it counts."""
    runs = _sweep(recorded, 1)
    section = overview.failure_kinds(runs)
    [row] = section.table.rows
    href = f"#view=samples&run={runs[0].recorded.record}&kind=assertion"
    assert row[1:] == (Cell("assertion", href=href), 19, "95.0 %")
    assert "assertion" in drawn(section)


def test_every_task_has_its_solve_rate(recorded):
    """The histogram counts every task once; the table has them all, those that are solved by none first."""
    runs = _sweep(recorded, 3)
    with opened(runs) as connection:
        section = overview.solve_rates(rows_of(connection, "report/solve_rates", {"runs": [0, 1, 2]}))
    assert sum(entry["count"] for entry in section.chart["data"]["values"]) == 20
    solved = {"0.0 %": range(5, 20), "33.3 %": (3, 4), "66.7 %": (1, 2), "100.0 %": (0,)}
    expected = [(f"Demo/{number}", rate) for rate, numbers in solved.items() for number in numbers]
    assert [(row[0].value, row[1]) for row in section.table.rows] == expected
    assert "15 of 20 tasks are solved by none" in section.lead
    assert "1 are solved in every sample" in section.lead
    assert "solve rate" in drawn(section)


def test_one_sample_of_one_run_has_neither_solve_rates_nor_reliability(one_run):
    """A rate that can only be 0 or 1 says no more than the score; other metrics need several samples."""
    runs = select_runs(one_run.root, ["first"])
    with opened(runs) as connection:
        assert overview.solve_rates(rows_of(connection, "report/solve_rates", {"runs": [0]})) is None
    assert overview.reliability(runs) is None


def test_more_samples_make_a_curve_over_k(recorded):
    """pass@1 and pass@2 of the same run are two points of one line."""
    run = recorded.tables()
    run.task("Demo/1")
    for index, status in enumerate(("pass", "fail")):
        run.sample("Demo/1", status, index=index)
    recorded.record(run, k=(1, 2))
    runs = select_runs(recorded.root, ["run"])
    section = overview.pass_at_k(runs)
    assert [row[0] for row in section.table.rows] == ["pass@1", "pass@2"]
    assert "pass@k" in drawn(section)
    metrics = ["avg@N", "Bayes@N, credible interval", "pass^2", "G-Pass@2, τ 0.5", "G-Pass@2, τ 0.75", "mG-Pass@2"]
    assert [row[0] for row in overview.reliability(runs).table.rows] == metrics


def test_a_page_about_one_run_does_not_repeat_its_name(recorded):
    """The column of runs is left out; a table without it is as it was."""
    recorded.record_one()
    section = overview.scores(select_runs(recorded.root, ["run"]))
    alone = section.without("run")
    assert section.table.columns[0].heading == "run"
    assert alone.table.columns[0].heading == "variant"
    assert [list(row) for row in alone.table.rows] == [list(row[1:]) for row in section.table.rows]
    assert alone.without("run") == alone
    headings = {column.heading for column in section.table.columns}
    assert not headings & {"not judged", "quarantine"}, "columns of zeros are left out"


def test_cost_is_marked_where_it_is_not_known_of_all_answers(recorded):
    """A sum over a part of the answers is a lower bound and says so; a complete one is drawn against the score."""
    for name, costs in (("part", (0.5, None)), ("all", (0.5, 0.25)), ("too", (1.0, 1.0))):
        run = recorded.tables()
        for number, cost in enumerate(costs):
            run.task(f"Demo/{number}")
            run.sample(f"Demo/{number}", usage={"cost_usd": cost, "completion_tokens": 10, "prompt_tokens": 5})
        recorded.record(run, run=name, model=name)
    runs = select_runs(recorded.root, ["part", "all", "too"])
    with opened(runs) as connection:
        section = overview.usage(runs, rows_of(connection, "usage"))
    column = [column.heading for column in section.table.columns].index("cost, USD")
    assert [row[column] for row in section.table.rows] == ["≥ 0.50", "0.75", "2.00"]
    priced = [point["run"] for point in section.chart["data"]["values"]]
    assert priced == [f"{name} · full · complete" for name in ("all", "too")]
    assert "cost, USD" in drawn(section)


def test_what_nobody_measured_is_no_amount(recorded):
    """An imported run has neither CPU seconds nor a duration: the columns that no run fills are left out."""
    recorded.record_one(sample={"cpu_seconds": float("nan")})
    runs = select_runs(recorded.root, ["run"])
    with opened(runs) as connection:
        [row] = rows_of(connection, "usage")
        section = overview.usage(runs, [row])
    assert row["judging_cpu_seconds"] is None
    assert "judging, CPU h" not in [column.heading for column in section.table.columns]


NAME = "name \u2028'\"\\ of a model"
RUNS = [f"{run} {NAME}" for run in "xy"]
NAMES = [f"{name} {NAME}" for name in "ab"]
POINTS = [
    {"name": name, "run": run, "value": 50.0, "low": 40.0, "high": 60.0, "tasks": 5, "x": float(place)}
    for name in NAMES
    for place, run in enumerate(RUNS)
]
SHARES = [{"run": run, "part": part, "value": 5.0, "count": 3} for run in RUNS for part in NAMES]
RANGES = [{"name": name, "value": 5.0, "low": -1.0, "high": 9.0, "note": f"note {NAME} {name}"} for name in NAMES]
PAIRS = [{"row": RUNS[0], "column": RUNS[1], "value": 3.0, "short": "+3.0*", "note": f"{RUNS[0]} is better"}]
SPECS = {
    "intervals": charts.intervals(POINTS, title="score", names=NAMES),
    "heat map": charts.heat_map(POINTS, title="score", names=NAMES, runs=RUNS),
    "whiskers": charts.whiskers(RANGES, title="difference", zero=True),
    "matrix": charts.matrix(PAIRS, title="differences", rows=RUNS, columns=RUNS),
    "stacked shares": charts.stacked_shares(SHARES, title="share", runs=RUNS, parts=NAMES),
    "curve": charts.curve(POINTS, title="score", x_title="k"),
    "histogram": charts.histogram(dict.fromkeys(NAMES, 2), title="tasks", x_title="rate"),
    "scatter": charts.scatter(POINTS, title="score", x_title="cost"),
}


def test_more_lines_than_colours_are_not_drawn():
    """Two runs of one colour could not be told apart."""
    points = [{**POINTS[0], "run": f"run {number}"} for number in range(charts.MOST_COLOURS + 1)]
    assert charts.curve(points, title="score", x_title="k") is None
    assert charts.curve(points[1:], title="score", x_title="k")


def _expressions(part):
    """Every text of a Vega specification that is evaluated: expressions, tests and signals."""
    if isinstance(part, dict):
        for key, value in part.items():
            if isinstance(value, str) and key in {"expr", "test", "signal", "update", "calculate", "filter"}:
                yield value
            elif not (key == "values" and isinstance(value, list)):
                yield from _expressions(value)
    elif isinstance(part, list):
        for value in part:
            yield from _expressions(value)


@pytest.mark.slow
@pytest.mark.parametrize("name", SPECS)
def test_no_name_becomes_a_part_of_an_expression(name):
    """Names are data: what Vega evaluates is the same whatever models and causes are called."""
    compiled = vl_convert.vegalite_to_vega(SPECS[name])
    expressions = list(_expressions(compiled))
    assert expressions
    assert not [text for text in expressions if "of a model" in text]
    assert "of a model" in json.dumps(compiled)
    assert SPECS[name]["description"] in vl_convert.vegalite_to_svg(SPECS[name]), "for those who cannot see it"

import json

import pytest
import vl_convert

from bigcodeflow.report import charts

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

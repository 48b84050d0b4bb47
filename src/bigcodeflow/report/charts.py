"""Vega-Lite specifications of the overview's charts; the page adds fonts and colours of the reader's theme.

Values are shares in percent. Orders stand as domains of scales, not as sorts, of which Vega-Lite makes expressions:
no expression holds data, so a model's name can only ever be text.
"""

from collections.abc import Sequence
from typing import Any, NotRequired, TypedDict

from bigcodeflow.core.display_text import elided

Spec = dict[str, Any]

#: More runs than that are told apart by place (a heat map), not by colour.
MOST_COLOURS = 6
_ROW_HEIGHT = 26
_PERCENT = {"type": "quantitative", "axis": {"tickCount": 5}}
#: Characters of a name that a chart has room for; the page sets fewer on a phone.
_NAME_LENGTH = 52
_SHORT_NAME = 28


def _elided(length: str, text: str = "datum.label") -> str:
    """The expression that leaves out the middle of a longer name, whose end often tells most."""
    head, tail = f"ceil(({length} - 1) / 2)", f"floor(({length} - 1) / 2)"
    return f"(length({text}) > {length} ? slice({text}, 0, {head}) + '…' + slice({text}, -{tail}) : {text})"


def _elided_pair() -> str:
    """The same for each side of 'A vs B'."""
    first, second = (_elided("(nameLength / 2 - 4)", f"split(datum.label, ' vs ')[{place}]") for place in (0, 1))
    return f"length(split(datum.label, ' vs ')) == 2 ? {first} + ' vs ' + {second} : {_elided('nameLength')}"


_LABELS = {
    "title": None, "labelPadding": 8, "ticks": False, "domain": False, "grid": False,
    "labelExpr": _elided("nameLength"),
}  # fmt: skip
_TOP_LABELS = {**_LABELS, "labelAngle": -40, "labelLimit": 150, "orient": "top", "labelExpr": _elided("18")}
_LEGEND = {"title": None, "labelExpr": _elided("nameLength")}


class ScorePoint(TypedDict):
    """A score with its 95 % interval, in percent; the interval may be unknown."""

    name: str
    """Row of the chart."""
    run: str
    """Colour of the chart."""
    value: float
    low: float | None
    high: float | None
    tasks: int
    x: NotRequired[float]
    """Place on the horizontal axis of a curve or a scatter."""


class RangePoint(TypedDict):
    """A number with its 95 % interval, and what it says in words."""

    name: str
    value: float
    low: float | None
    high: float | None
    told: str


class PairCell(TypedDict):
    """The difference of two runs, in points of 100."""

    row: str
    column: str
    value: float
    short: str
    told: str


class SharePoint(TypedDict):
    """A part of a whole, in percent."""

    run: str
    part: str
    value: float
    count: int


def intervals(points: Sequence[ScorePoint], *, title: str, names: Sequence[str]) -> Spec:
    """A dot with a whisker for each point, one row a name in the given order; runs stand side by side in a row."""
    runs = list(dict.fromkeys(point["run"] for point in points))
    several = len(runs) > 1 and len(names) < len(points)
    encoding: Spec = {
        "y": {"field": "name", "type": "nominal", "scale": {"domain": list(names)}, "axis": _LABELS},
        "tooltip": _score_tooltip(),
    }
    if several:
        encoding["yOffset"] = {"field": "place", "type": "ordinal", "sort": "ascending"}
        encoding["color"] = {"field": "run", "type": "nominal", "scale": {"domain": runs}, "legend": _LEGEND}
    scale = {"domain": [0, 100]}
    return {
        **_base([{**point, "place": runs.index(point["run"])} for point in points], title),
        "height": len(names) * (_ROW_HEIGHT if not several else 8 + 9 * len(runs)),
        "encoding": encoding,
        "layer": [
            {
                "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.55},
                "encoding": {
                    "x": {"field": "low", **_PERCENT, "scale": scale, "title": title},
                    "x2": {"field": "high"},
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
                "encoding": {"x": {"field": "value", **_PERCENT, "scale": scale}},
            },
        ],
    }


def heat_map(points: Sequence[ScorePoint], *, title: str, names: Sequence[str], runs: Sequence[str]) -> Spec:
    """A cell for each name and run, coloured and labelled by its score: for more runs than colours can tell apart."""
    return {
        **_base([{**point, "short": f"{point['value']:.0f}"} for point in points], title),
        "height": len(runs) * _ROW_HEIGHT,
        "encoding": {
            "y": {"field": "run", "type": "nominal", "scale": {"domain": list(runs)}, "axis": _LABELS},
            "x": {
                "field": "name",
                "type": "nominal",
                "scale": {"domain": list(names)},
                "axis": _TOP_LABELS,
            },
            "tooltip": _score_tooltip(),
        },
        "layer": [
            {
                "mark": {"type": "rect"},
                "encoding": {
                    "color": {
                        "field": "value",
                        "type": "quantitative",
                        "scale": {"scheme": "teals", "domain": [0, 100]},
                        "legend": None,
                    }
                },
            },
            {
                "mark": {"type": "text", "fontSize": 11},
                "encoding": {
                    "text": {"field": "short"},
                    "color": {"condition": {"test": "datum.value > 55", "value": "#fff"}, "value": "#123"},
                },
            },
        ],
    }


def whiskers(points: Sequence[RangePoint], *, title: str, zero: bool) -> Spec:
    """A dot with a whisker for each point, a row each in the given order, perhaps with a line at 0 to be read against.

    Certain and uncertain ones differ in colour and in form, where there are both.
    """
    rows = {
        "field": "name",
        "type": "nominal",
        "scale": {"domain": [point["name"] for point in points]},
        "axis": {**_LABELS, "labelExpr": _elided_pair()},
    }
    told = list(dict.fromkeys(point["told"] for point in points))
    kinds: Spec = {}
    if zero and len(told) > 1:
        kinds = {
            name: {"field": "told", "type": "nominal", "scale": {"domain": told}, "legend": _LEGEND}
            for name in ("color", "shape")
        }
    scale = {"zero": zero, "nice": True}
    tooltip = [
        _text("name"),
        _number("value", title),
        _number("low", "95 % from"),
        _number("high", "to"),
        _text("told"),
    ]
    layers: list[Spec] = [
        {
            "mark": {"type": "rule", "strokeWidth": 2, "opacity": 0.55},
            "encoding": {
                "x": {"field": "low", **_PERCENT, "scale": scale, "title": title},
                "x2": {"field": "high"},
                "y": rows,
                "tooltip": tooltip,
                **{name: kind for name, kind in kinds.items() if name == "color"},
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 80, "opacity": 1},
            "encoding": {
                "x": {"field": "value", **_PERCENT, "scale": scale},
                "y": rows,
                "tooltip": tooltip,
                **kinds,
            },
        },
    ]
    if zero:
        layers.append({"mark": {"type": "rule", "strokeDash": [4, 3], "aria": False}, "encoding": {"x": {"datum": 0}}})
    return {**_base(points, title), "height": len(points) * _ROW_HEIGHT, "layer": layers}


def matrix(cells: Sequence[PairCell], *, title: str, rows: Sequence[str], columns: Sequence[str]) -> Spec:
    """A cell for each pair of names, coloured by the difference of row and column; significant ones have a star."""
    most = max((abs(cell["value"]) for cell in cells), default=0.0) or 1.0
    return {
        **_base(cells, title),
        # As wide as it takes: twenty columns on a phone scroll in their frame instead of shrinking to nothing.
        "width": {"step": 44},
        "height": {"step": _ROW_HEIGHT},
        "autosize": {"type": "pad"},
        "encoding": {
            "y": {"field": "row", "type": "nominal", "scale": {"domain": list(rows)}, "axis": _LABELS},
            "x": {
                "field": "column",
                "type": "nominal",
                "scale": {"domain": list(columns)},
                "axis": _TOP_LABELS,
            },
            "tooltip": [_text("row"), _text("column"), _number("value", title, "+.1f"), _text("told")],
        },
        "layer": [
            {
                "mark": {"type": "rect"},
                "encoding": {
                    "color": {
                        "field": "value",
                        "type": "quantitative",
                        "scale": {"scheme": "blueorange", "reverse": True, "domain": [-most, most]},
                        "legend": None,
                    }
                },
            },
            {
                "mark": {"type": "text", "fontSize": 11},
                "encoding": {
                    "text": {"field": "short"},
                    "color": {
                        "condition": {"test": f"abs(datum.value) > {0.6 * most:.3f}", "value": "#fff"},
                        "value": "#123",
                    },
                },
            },
        ],
    }


def stacked_shares(points: Sequence[SharePoint], *, title: str, runs: Sequence[str], parts: Sequence[str]) -> Spec:
    """A bar a run, made of parts in the given order."""
    order = {part: place for place, part in enumerate(parts)}
    return {
        **_base([{**point, "order": order[point["part"]]} for point in points], title),
        "height": len(runs) * _ROW_HEIGHT,
        "mark": {"type": "bar", "height": {"band": 0.72}},
        "encoding": {
            "y": {"field": "run", "type": "nominal", "scale": {"domain": list(runs)}, "axis": _LABELS},
            "x": {"field": "value", **_PERCENT, "title": title},
            "order": {"field": "order"},
            "color": {
                "field": "part",
                "type": "nominal",
                "scale": {"domain": list(parts)},
                "legend": {"title": None, "orient": "bottom"},
            },
            "tooltip": [_text("run"), _text("part"), _number("value", "share, %"), _number("count", "samples", ",d")],
        },
    }


def curve(points: Sequence[ScorePoint], *, title: str, x_title: str) -> Spec:
    """A line with whiskers for each run, over the number ``x``: k of pass@k, or a temperature."""
    ticks = sorted({point["x"] for point in points})
    return {
        **_base(points, title),
        "height": 260,
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": x_title, "axis": {"values": ticks, "grid": False}},
            "color": {"field": "run", "type": "nominal", "legend": {**_LEGEND, "orient": "bottom"}},
            "tooltip": [_number("x", x_title, "~g"), *_score_tooltip()],
        },
        "layer": [
            {
                "mark": {"type": "rule", "opacity": 0.5},
                "encoding": {"y": _score_axis("low", title), "y2": {"field": "high"}},
            },
            {"mark": {"type": "line", "point": {"size": 60}}, "encoding": {"y": _score_axis("value", title)}},
        ],
    }


def histogram(counts: Sequence[Spec], *, title: str, x_title: str) -> Spec:
    """A column for each ``name``, in the given order, as high as its ``count``."""
    return {
        **_base(counts, title),
        "height": 220,
        "mark": {"type": "bar"},
        "encoding": {
            "x": {
                "field": "name",
                "type": "nominal",
                "scale": {"domain": [entry["name"] for entry in counts]},
                "title": x_title,
                "axis": {"labelAngle": 0, "labelOverlap": True},
            },
            "y": {"field": "count", "type": "quantitative", "title": title, "axis": {"tickMinStep": 1}},
            "tooltip": [{"field": "name", "title": x_title}, _number("count", title, ",d")],
        },
    }


def scatter(points: Sequence[ScorePoint], *, title: str, x_title: str) -> Spec:
    """A named dot with a whisker for each run, over the amount ``x``."""
    return {
        **_base([{**point, "short": elided(point["run"], _SHORT_NAME)} for point in points], title),
        "height": 280,
        "encoding": {
            "x": {"field": "x", "type": "quantitative", "title": x_title, "scale": {"zero": True}},
            "tooltip": [_number("x", x_title, ",.2f"), *_score_tooltip()],
        },
        "layer": [
            {
                "mark": {"type": "rule", "opacity": 0.5},
                "encoding": {"y": _score_axis("low", title), "y2": {"field": "high"}},
            },
            {"mark": {"type": "point", "filled": True, "size": 80}, "encoding": {"y": _score_axis("value", title)}},
            {
                "mark": {"type": "text", "align": "left", "dx": 8, "dy": -8, "limit": 180},
                "encoding": {"y": _score_axis("value", title), "text": {"field": "short"}},
            },
        ],
    }


def _base(values: Sequence[Any], title: str) -> Spec:
    return {
        "data": {"values": list(values)},
        "description": title,
        "params": [{"name": "nameLength", "value": _NAME_LENGTH}],
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
    }


def _score_axis(field: str, title: str) -> Spec:
    return {"field": field, **_PERCENT, "title": title, "scale": {"zero": False}}


def _score_tooltip() -> list[Spec]:
    return [
        _text("run"),
        _text("name"),
        _number("value", "score, %"),
        _number("low", "95 % from"),
        _number("high", "to"),
        _number("tasks", "tasks", ",d"),
    ]


def _text(field: str) -> Spec:
    return {"field": field, "type": "nominal"}


def _number(field: str, title: str, shape: str = ".1f") -> Spec:
    return {"field": field, "type": "quantitative", "title": title, "format": shape}

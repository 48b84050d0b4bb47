"""Vega-Lite specifications of the overview's charts; the page adds fonts and colours of the reader's theme.

Values are shares in percent. Orders are given as domains of scales: Vega-Lite would compile sorts to expressions,
and expressions must contain no data, so that a model's name is always only text.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NotRequired, TypedDict

from bigcodeflow.core.display_text import elided

Spec = dict[str, Any]

#: Most runs that colours can distinguish; for more, a heat map shows them by position, and curves are left out.
MOST_COLOURS = 6
_ROW_HEIGHT = 26
_PERCENT: Spec = {"type": "quantitative", "axis": {"tickCount": 5}}
#: Longest name in a chart, in characters; the page sets a smaller limit on a phone.
_NAME_LENGTH = 52
_SHORT_NAME = 28
_DAY_MILLISECONDS = 86_400_000
#: Approximate number of day labels on the axis of a trend; with fewer than `_FEWEST_DAYS` they have times of day.
_MOST_DAYS, _FEWEST_DAYS = 8, 3
_DOT: Spec = {"type": "point", "filled": True, "size": 80, "opacity": 1}
_WHISKER: Spec = {"type": "rule", "strokeWidth": 2, "opacity": 0.55}


def _elided(length: str, text: str = "datum.label") -> str:
    """Return a Vega expression that elides the middle of long names, because their ends are often important."""
    head, tail = f"ceil(({length} - 1) / 2)", f"floor(({length} - 1) / 2)"
    return f"(length({text}) > {length} ? slice({text}, 0, {head}) + '…' + slice({text}, -{tail}) : {text})"


#: Expressions that elide each side of 'A vs B'.
_FIRST, _SECOND = (_elided("(nameLength / 2 - 4)", f"split(datum.label, ' vs ')[{side}]") for side in (0, 1))
_ELIDED_PAIR = f"length(split(datum.label, ' vs ')) == 2 ? {_FIRST} + ' vs ' + {_SECOND} : {_elided('nameLength')}"
_LABELS: Spec = {
    "title": None, "labelPadding": 8, "ticks": False, "domain": False, "grid": False,
    "labelExpr": _elided("nameLength"),
}  # fmt: skip
_TOP_LABELS: Spec = {**_LABELS, "labelAngle": -40, "labelLimit": 150, "orient": "top", "labelExpr": _elided("18")}
_LEGEND: Spec = {"title": None, "labelExpr": _elided("nameLength")}


class ScorePoint(TypedDict):
    """A score with its 95 % interval, in percent; each name has a row in the chart, each run a colour."""

    name: str
    run: str
    value: float
    low: float | None
    high: float | None
    tasks: int
    x: NotRequired[float]
    """Position on the horizontal axis of a curve or a scatter."""


class RangePoint(TypedDict):
    """A number with its 95 % interval, and a note for the tooltip and the legend."""

    name: str
    value: float
    low: float | None
    high: float | None
    note: str


def intervals(points: Sequence[ScorePoint], *, title: str, names: Sequence[str]) -> Spec:
    """Return a chart with a row for each of ``names``; each point is a dot, with its interval as a whisker."""
    runs = list(dict.fromkeys(point["run"] for point in points))
    row_height = _ROW_HEIGHT
    encoding: Spec = {"y": _nominal("name", names, axis=_LABELS), "tooltip": _SCORE_TOOLTIP}
    if len(runs) > 1 and len(names) < len(points):
        row_height = 8 + 9 * len(runs)
        encoding["yOffset"] = {"field": "place", "type": "ordinal", "sort": "ascending"}
        encoding["color"] = _nominal("run", runs, legend=_LEGEND)
    values = [{**point, "place": runs.index(point["run"])} for point in points]
    layer = _dots_with_whiskers(title, {"domain": [0, 100]})
    return _chart(values, title, height=len(names) * row_height, encoding=encoding, layer=layer)


def heat_map(points: Sequence[ScorePoint], *, title: str, names: Sequence[str], runs: Sequence[str]) -> Spec:
    """Return a chart with a cell for each name and run, coloured and labelled by score; it suits many runs."""
    values = [{**point, "short": f"{point['value']:.0f}"} for point in points]
    places = {"y": _nominal("run", runs, axis=_LABELS), "x": _nominal("name", names, axis=_TOP_LABELS)}
    layer = _coloured_cells({"scheme": "teals", "domain": [0, 100]}, dark="datum.value > 55")
    encoding = {**places, "tooltip": _SCORE_TOOLTIP}
    return _chart(values, title, height=len(runs) * _ROW_HEIGHT, encoding=encoding, layer=layer)


def matrix(cells: Sequence[Mapping[str, Any]], *, title: str, rows: Sequence[str], columns: Sequence[str]) -> Spec:
    """Return a chart with a cell for each pair of names, coloured by its value, the row's score less the column's.

    ``cells`` have the keys row, column, value (in percentage points), short (text in the cell) and note.
    """
    most = max((abs(cell["value"]) for cell in cells), default=0.0) or 1.0
    scale = {"scheme": "blueorange", "reverse": True, "domain": [-most, most]}
    tooltip = [_nominal("row"), _nominal("column"), _number("value", title, "+.1f"), _nominal("note")]
    places = {"y": _nominal("row", rows, axis=_LABELS), "x": _nominal("column", columns, axis=_TOP_LABELS)}
    return _chart(
        cells,
        title,
        # A fixed width per column: twenty columns on a phone scroll in their frame instead of becoming too small.
        width={"step": 44},
        height={"step": _ROW_HEIGHT},
        autosize={"type": "pad"},
        encoding={**places, "tooltip": tooltip},
        layer=_coloured_cells(scale, dark=f"abs(datum.value) > {0.6 * most:.3f}"),
    )


def whiskers(points: Sequence[RangePoint], *, title: str, zero: bool) -> Spec:
    """Return a chart with a dot and its interval (whisker) for each point, one row per point in the given order.

    With ``zero``, the chart has a line at 0, and points with different notes differ in colour and shape.
    """
    rows = _nominal("name", [point["name"] for point in points], axis={**_LABELS, "labelExpr": _ELIDED_PAIR})
    ends = (_number("low", "95 % from"), _number("high", "to"))
    tooltip = [_nominal("name"), _number("value", title), *ends, _nominal("note")]
    layer = _dots_with_whiskers(title, {"zero": zero, "nice": True}, y=rows, tooltip=tooltip)
    notes = list(dict.fromkeys(point["note"] for point in points))
    if zero and len(notes) > 1:
        note = _nominal("note", notes, legend=_LEGEND)
        layer[0]["encoding"] |= {"color": note}
        layer[1]["encoding"] |= {"color": note, "shape": note}
    if zero:
        layer.append(_layer({"type": "rule", "strokeDash": [4, 3], "aria": False}, x={"datum": 0}))
    return _chart(points, title, height=len(points) * _ROW_HEIGHT, layer=layer)


def stacked_shares(
    points: Sequence[Mapping[str, Any]], *, title: str, runs: Sequence[str], parts: Sequence[str]
) -> Spec:
    """Return a chart with a bar per run, made of ``parts``; ``points`` have run, part, value in percent, and count."""
    order = {part: number for number, part in enumerate(parts)}
    encoding = {
        "y": _nominal("run", runs, axis=_LABELS),
        "x": {"field": "value", **_PERCENT, "title": title},
        "order": {"field": "order"},
        "color": _nominal("part", parts, legend={"title": None, "orient": "bottom"}),
        "tooltip": [*map(_nominal, ("run", "part")), _number("value", "share, %"), _number("count", "samples", ",d")],
    }
    values = [{**point, "order": order[point["part"]]} for point in points]
    mark = {"type": "bar", "height": {"band": 0.72}}
    return _chart(values, title, height=len(runs) * _ROW_HEIGHT, mark=mark, encoding=encoding)


def curve(points: Sequence[ScorePoint], *, title: str, x_title: str) -> Spec | None:
    """Return a chart with a line and intervals for each run, over the number ``x``: k of pass@k, or a temperature.

    Return None for more than MOST_COLOURS runs, which only the table below the chart shows.
    """
    if len({point["run"] for point in points}) > MOST_COLOURS:
        return None
    axis = {"values": sorted({point["x"] for point in points}), "grid": False}
    x = {"type": "quantitative", "title": x_title, "axis": axis}
    return _lines(points, title, x, (), [_number("x", x_title, "~g"), *_SCORE_TOOLTIP])


def trend(points: Sequence[ScorePoint], *, title: str, runs: Sequence[str], domain: tuple[float, float]) -> Spec:
    """Return a chart with a line and intervals for each run over time; ``x`` is in milliseconds since 1970, UTC.

    ``domain`` is the range of scores on the axis, in percent, which charts of one page share.
    """
    moments = [point["x"] for point in points]
    days = (max(moments) - min(moments)) / _DAY_MILLISECONDS
    ticks: Spec = {"format": "%b %d %H:%M" if days > 1 else "%H:%M", "tickCount": 6, "tickMinStep": 60_000}
    if days >= _FEWEST_DAYS:
        ticks = {"format": "%b %d", "tickCount": {"interval": "day", "step": max(1, round(days / _MOST_DAYS))}}
    day = None if days > 1 else f"{datetime.fromtimestamp(min(moments) / 1000, UTC):%Y-%m-%d}, UTC"
    axis = {"grid": False, "labelOverlap": True, "labelSeparation": 8, **ticks}
    spec = _lines(
        points, title, {"type": "temporal", "title": day, "scale": {"type": "utc"}, "axis": axis}, runs, _SCORE_TOOLTIP
    )
    for layer in spec["layer"]:
        layer["encoding"]["y"]["scale"] = {"domain": list(domain)}
    return spec


def scatter(points: Sequence[ScorePoint], *, title: str, x_title: str) -> Spec:
    """Return a chart with a labelled dot and its interval for each run, over the amount ``x``, such as the cost."""
    value, name = _score_axis("value", title), {"type": "text", "align": "left", "dx": 8, "dy": -8, "limit": 180}
    encoding = {
        "x": {"field": "x", "type": "quantitative", "title": x_title, "scale": {"zero": True}},
        "tooltip": [_number("x", x_title, ",.2f"), *_SCORE_TOOLTIP],
    }
    point = {"type": "point", "filled": True, "size": 80}
    layer = [_standing_whiskers(title), _layer(point, y=value), _layer(name, y=value, text={"field": "short"})]
    values = [{**point, "short": elided(point["run"], _SHORT_NAME)} for point in points]
    return _chart(values, title, height=280, encoding=encoding, layer=layer)


def histogram(counts: Mapping[str, int], *, title: str, x_title: str) -> Spec:
    """Return a chart with a column for each name, in the given order; its height is the count."""
    encoding = {
        "x": _nominal("name", list(counts), title=x_title, axis={"labelAngle": 0, "labelOverlap": True}),
        "y": {"field": "count", "type": "quantitative", "title": title, "axis": {"tickMinStep": 1}},
        "tooltip": [{"field": "name", "title": x_title}, _number("count", title, ",d")],
    }
    values = [{"name": name, "count": count} for name, count in counts.items()]
    return _chart(values, title, height=220, mark={"type": "bar"}, encoding=encoding)


def _chart(values: Sequence[Any], title: str, **parts: Any) -> Spec:
    return {
        "data": {"values": list(values)},
        "description": title,
        "params": [{"name": "nameLength", "value": _NAME_LENGTH}],
        "width": "container",
        "autosize": {"type": "fit-x", "contains": "padding"},
        **parts,
    }


def _lines(points: Sequence[ScorePoint], title: str, x: Spec, runs: Sequence[str], tooltip: Sequence[Spec]) -> Spec:
    """Return a chart with a line and whiskers for each run."""
    color = _nominal("run", runs, legend={**_LEGEND, "orient": "bottom"})
    line = _layer({"type": "line", "point": {"size": 60}}, y=_score_axis("value", title))
    encoding = {"x": {"field": "x", **x}, "color": color, "tooltip": tooltip}
    return _chart(points, title, height=260, encoding=encoding, layer=[_standing_whiskers(title), line])


def _layer(mark: Spec, **encoding: Any) -> Spec:
    return {"mark": mark, "encoding": encoding}


def _dots_with_whiskers(title: str, scale: Spec, **shared: Any) -> list[Spec]:
    """Return two layers: whiskers from 'low' to 'high', and dots at 'value'; both have the ``shared`` encodings."""
    low = {"field": "low", **_PERCENT, "scale": scale, "title": title}
    return [
        _layer(_WHISKER, x=low, x2={"field": "high"}, **shared),
        _layer(_DOT, x={"field": "value", **_PERCENT, "scale": scale}, **shared),
    ]


def _coloured_cells(scale: Spec, *, dark: str) -> list[Spec]:
    """Return layers of cells, which are coloured by their field 'value' and labelled with their field 'short'.

    The label is white where the Vega expression ``dark`` is true, else dark.
    """
    colour = {"field": "value", "type": "quantitative", "scale": scale, "legend": None}
    label = {"condition": {"test": dark, "value": "#fff"}, "value": "#123"}
    text = _layer({"type": "text", "fontSize": 11}, text={"field": "short"}, color=label)
    return [_layer({"type": "rect"}, color=colour), text]


def _score_axis(field: str, title: str) -> Spec:
    return {"field": field, **_PERCENT, "title": title, "scale": {"zero": False}}


def _standing_whiskers(title: str) -> Spec:
    return _layer({"type": "rule", "opacity": 0.5}, y=_score_axis("low", title), y2={"field": "high"})


def _nominal(field: str, order: Sequence[str] = (), **more: Any) -> Spec:
    scale = {"scale": {"domain": list(order)}} if order else {}
    return {"field": field, "type": "nominal", **scale, **more}


def _number(field: str, title: str, shape: str = ".1f") -> Spec:
    return {"field": field, "type": "quantitative", "title": title, "format": shape}


_SCORE_TOOLTIP = [
    *map(_nominal, ("run", "name")),
    *(
        _number("value", "score, %"),
        _number("low", "95 % from"),
        _number("high", "to"),
        _number("tasks", "tasks", ",d"),
    ),
]

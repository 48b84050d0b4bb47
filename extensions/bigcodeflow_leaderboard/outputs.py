"""Writers of a snapshot (JSON, CSV, Markdown, HTML, the format of the original's results.json) and of entry YAML."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml

from bigcodeflow.config import Subset
from bigcodeflow.core.display_text import markdown_text
from bigcodeflow.core.schemas import UNKNOWN
from bigcodeflow.core.table import Alignment, Column, Table
from bigcodeflow.results.formatting import csv_text
from bigcodeflow_leaderboard.entries import LeaderboardEntry, Rank, RunLink, points, rankings, score
from bigcodeflow_leaderboard.history import Snapshot

#: Columns of leaderboard.csv: an entry's fields; the last column is the run's record.
CSV_COLUMNS = (*(name for name in LeaderboardEntry.model_fields if name not in {"run", "remarks"}), "remarks", "run")
_HUB_DATASETS: Mapping[Subset, str] = {"full": "bigcode/bigcodebench", "hard": "bigcode/bigcodebench-hard"}


class _Field(NamedTuple):
    """A column of the rankings in Markdown and HTML."""

    heading: str
    align: Alignment
    text: Callable[[Rank], str]
    value: Callable[[Rank], float | None] | None = None
    """Sort key of a column of numbers; None sorts by the text."""
    first: Literal["ascending", "descending"] = "descending"
    """Order after the first click on the heading: it puts the best on top."""


_FIELDS = (
    _Field("rank", "right", lambda rank: str(rank.position), lambda rank: rank.position, "ascending"),
    _Field("model", "left", lambda rank: rank.entry.title, first="ascending"),
    _Field("origin", "left", lambda rank: rank.entry.origin, first="ascending"),
    _Field("pass@1", "right", lambda rank: score(rank.entry.pass_at_1), lambda rank: rank.entry.pass_at_1),
    _Field("95 % interval", "center", lambda rank: rank.entry.interval, lambda rank: rank.entry.ci_low),
    _Field("published", "right", lambda rank: score(rank.published), lambda rank: rank.published),
    _Field("difference", "right", lambda rank: points(rank.difference_points), lambda rank: rank.difference_points),
    _Field(
        "samples",
        "right",
        lambda rank: "" if rank.entry.n_samples is None else f"{rank.entry.n_samples:,}",
        lambda rank: rank.entry.n_samples,
    ),
    _Field(
        "ground truths",
        "right",
        lambda rank: score(rank.entry.ground_truth_rate),
        lambda rank: rank.entry.ground_truth_rate,
    ),
    _Field("setting", "left", lambda rank: rank.entry.setting, first="ascending"),
    _Field("judged by", "left", lambda rank: rank.entry.judged_by, first="ascending"),
    _Field("evaluated", "left", lambda rank: f"{at:%Y-%m-%d}" if (at := rank.entry.evaluated_at) else ""),
    _Field("run", "left", lambda rank: rank.entry.run.record if rank.entry.run else "", first="ascending"),
)


def files(snapshot: Snapshot) -> dict[str, bytes]:
    """Return the content of every output file by file name; the same snapshot always gives the same bytes."""
    return {
        "leaderboard.json": snapshot.to_json(),
        "leaderboard.csv": to_csv(snapshot).encode(),
        "leaderboard.md": to_markdown(snapshot).encode(),
        "leaderboard.html": to_html(snapshot).encode(),
        "results.json": to_original_json(snapshot, "full"),
        "results-hard.json": to_original_json(snapshot, "hard"),
    }


def to_csv(snapshot: Snapshot) -> str:
    """Return CSV with a line for each entry; shares are fractions from 0 to 1, unknown values are empty cells."""
    rows = (
        entry.model_dump(mode="json")
        | {"remarks": "; ".join(entry.remarks), "run": entry.run.record if entry.run else None}
        for entry in snapshot.entries
    )
    return csv_text(CSV_COLUMNS, rows)


def to_markdown(snapshot: Snapshot) -> str:
    """Write a Markdown page with one table for each subset and split."""
    lead = (
        f"Calibrated pass@1 in percent. Snapshot {snapshot.name}. *ours*: measured by bigcodeflow, with a 95 % "
        "interval over tasks; *published*: taken from BigCodeBench's own leaderboard, which states no interval."
    )
    parts = ["# BigCodeBench leaderboard", lead]
    columns = [Column(field.heading, field.align) for field in _FIELDS]
    for ranking in rankings(snapshot.entries):
        rows, remarks = [], []
        for rank in ranking.ranks:
            texts = {field.heading: field.text(rank) for field in _FIELDS}
            if rank.entry.remarks:
                texts["model"] += " (see below)"
                remarks.append("- " + markdown_text(f"{rank.entry.title}: {'; '.join(rank.entry.remarks)}"))
            rows.append(list(texts.values()))
        parts.append(Table(columns, rows, ranking.title).to_markdown(level=2))
        parts += ["Allowed although they are refused otherwise:", "\n".join(remarks)] if remarks else []
    return "\n\n".join(parts) + "\n"


def to_html(snapshot: Snapshot) -> str:
    """Write an HTML page without external files: a sortable table for each ranking, and origins of measured scores."""
    from jinja2 import Environment, StrictUndefined

    template = Path(__file__).with_name("page.html").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    facts = {entry.run.record: _facts(entry, entry.run) for entry in snapshot.entries if entry.run}
    return environment.from_string(template).render(
        snapshot=snapshot, rankings=list(rankings(snapshot.entries)), fields=_FIELDS, runs=dict(sorted(facts.items()))
    )


def _facts(entry: LeaderboardEntry, run: RunLink) -> dict[str, str]:
    """Return facts about the origin of a measured score: texts by label, such as 'dataset' and 'environment'."""
    return {
        "model": entry.title,
        "score": f"{score(entry.pass_at_1)} ({entry.interval}), {entry.split}, {entry.subset}",
        "setting": f"{entry.setting} ({entry.setting_key})",
        "sanitizer": entry.sanitizer or UNKNOWN,
        "environment": " ".join(filter(None, (entry.environment, entry.environment_sha))) or UNKNOWN,
        "dataset": f"{run.dataset} {run.dataset_revision or ''}".rstrip(),
        "measured by": entry.source,
        "record": f"runs/{run.record}.json in the store",
        **{f"{stage} artifact": key for stage, key in sorted(run.artifacts.items())},
    }


def to_original_json(snapshot: Snapshot, subset: Subset) -> bytes:
    """Write the subset's scores in the format of the original's results.json (full) or results-hard.json (hard).

    model → {link, open-data, pass@1: {instruct, complete} in percent, prompted, moe, size, act_param, elo_mle}. Unknown
    values are null. Measured entries are named 'MODEL (bigcodeflow: SETTING)'; published entries keep the model's name.
    """
    models: dict[str, dict[str, Any]] = {}
    names: dict[str, tuple[str, ...]] = {}
    unknown = dict.fromkeys(("link", "open-data", "pass@1", "prompted", "moe", "size", "act_param", "elo_mle"))
    for entry in sorted((entry for entry in snapshot.entries if entry.subset == subset), key=lambda e: e.identity):
        same = entry.identity[:4]
        name = entry.title if entry.origin == "published" else f"{entry.title} (bigcodeflow: {entry.setting})"
        if names.setdefault(name, same) != same:
            name = f"{name[:-1]}; {entry.setting_key})"
        scores = {"instruct": None, "complete": None}
        row = models.setdefault(name, {**unknown, "pass@1": scores, "size": entry.size_b})
        row["pass@1"][entry.split] = round(100 * entry.pass_at_1, 1)
        if entry.split == "instruct":
            row["prompted"] = True  # a model that only continues code cannot do Instruct
    return (json.dumps(models, indent=4, ensure_ascii=False) + "\n").encode()


def card(entry: LeaderboardEntry, card_format: Literal["eval-results", "model-index"] = "eval-results") -> str:
    """Write an entry as YAML for the model's own repository on the hub, with pass@1 in percent.

    'eval-results' gives the content of a YAML file in ``.eval_results/``; 'model-index' gives front matter for the
    model's README.md.
    """
    from huggingface_hub import EvalResult, EvalResultEntry, eval_result_entries_to_yaml
    from huggingface_hub.repocard_data import eval_results_to_model_index

    dataset, run = _HUB_DATASETS[entry.subset], entry.run
    value = round(100 * entry.pass_at_1, 2)
    # The commit is stated only if the tasks came from the dataset that is named here.
    revision = run.dataset_revision if run and run.dataset.partition("@")[0] == dataset else None
    content: Any
    if card_format == "model-index":
        result = EvalResult(
            task_type="text-generation",
            task_name="Code generation",
            dataset_type=dataset,
            dataset_name=f"BigCodeBench {entry.subset}, {entry.split}",
            dataset_args={"split": entry.split},
            dataset_revision=revision,
            metric_type="pass@1",
            metric_name=f"calibrated pass@1, 95 % interval {entry.interval}",
            metric_value=value,
        )
        content = {"model-index": eval_results_to_model_index(entry.model, [result])}
    else:
        rate = UNKNOWN if entry.ground_truth_rate is None else f"{score(entry.ground_truth_rate)} %"
        notes = "; ".join(
            (
                f"calibrated pass@1; 95 % interval {entry.interval}",
                entry.setting,
                f"sanitizer {entry.sanitizer or UNKNOWN}; ground truths {rate}",
                f"environment {(entry.environment_sha or UNKNOWN)[:12]}",
                entry.source,
                *entry.remarks,
            )
        )
        date = f"{entry.evaluated_at:%Y-%m-%dT%H:%M:%SZ}" if entry.evaluated_at else None
        evaluated = EvalResultEntry(dataset, entry.split, value, dataset_revision=revision, date=date, notes=notes)
        content = eval_result_entries_to_yaml([evaluated])
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=10_000)

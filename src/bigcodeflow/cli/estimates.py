"""What runs would ask of models: requests, tokens and cost, for dry runs and before very many requests."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import typer

from bigcodeflow import datasets, generation
from bigcodeflow.cli.console import notice, notices, out
from bigcodeflow.config import DatasetConfig, RunConfig
from bigcodeflow.core.errors import DatasetError
from bigcodeflow.core.table import Column, Table
from bigcodeflow.generation.costs import RequestEstimate, estimate_requests
from bigcodeflow.generation.model_settings import missing_key, resolve_settings
from bigcodeflow.store import open_store

#: Number of requests above which a terminal is asked before the first one; the whole benchmark has 1,140 tasks.
_MANY_REQUESTS = 20_000
_MOST_TASKS = 1_140


def print_estimates(runs: Sequence[RunConfig]) -> None:
    """Print requests, tokens and cost of the runs that ask a model, one row each; ask no model."""
    _print(_estimates(runs))


def _print(estimates: Iterable[tuple[RunConfig, RequestEstimate]]) -> None:
    rows, notes = [], dict[str, None]()
    for run, found in estimates:
        most = "no limit" if found.most_completion_tokens is None else found.most_completion_tokens
        cost = "unknown" if found.most_cost_usd is None else f"${found.most_cost_usd:,.2f}"
        rows.append((run.name, found.samples, found.known, found.requests, found.prompt_tokens, most, cost))
        dated = f"prices of {found.price.as_of}" if found.price.price else "no list price is known for this model"
        notes |= dict.fromkeys(filter(None, (dated, found.price.note, missing_key(run.generation))))
    if not rows:
        return
    numbers = ("samples", "known", "requests", "tokens to read", "to write, at most", "cost, at most")
    out.print(Table.of(["setting", *(Column(heading, align="right") for heading in numbers)], rows))
    notice("known: answered before. Tokens at about four characters each; cost by list prices.")
    for line in notes:
        notice(f"note: {line}")


def confirm_requests(runs: Sequence[RunConfig]) -> None:
    """At a terminal, show the estimate and ask before very many requests; end the command if the answer is no."""
    most = sum(run.generation.n_samples * _MOST_TASKS for run in runs if run.samples.source == "model")
    if most <= _MANY_REQUESTS or not (sys.stdin.isatty() and notices.is_terminal):
        return
    estimates = list(_estimates(runs))
    if (requests := sum(found.requests for _, found in estimates)) > _MANY_REQUESTS:
        _print(estimates)
        typer.confirm(f"Send {requests:,} requests?", abort=True, err=True)


def check_samples(run: RunConfig) -> None:
    """Raise the errors of a run's sample file; print how many tasks it answers if not all."""
    if run.samples.source == "model":
        return
    resolved, tasks = _load_tasks(run.dataset)
    known = datasets.known_task_ids(run.dataset, resolved)
    samples = generation.load_samples(run.samples, tasks, known_task_ids=known, selection=True)
    answered = pc.count_distinct(samples["task_id"]).as_py()
    if answered < len(tasks):
        notice(f"note: {run.samples.source} answers {answered:,} of {len(tasks):,} tasks; only these are judged")


def tasks_of(config: RunConfig) -> list[dict[str, Any]]:
    """Load the tasks as dicts."""
    found: list[dict[str, Any]] = _load_tasks(config.dataset)[1].to_pylist()
    return found


def _load_tasks(view: DatasetConfig) -> tuple[datasets.ResolvedDataset, pa.Table]:
    """Load the tasks, from the hub cache if possible: a command without model requests should need no network."""
    offline = view.model_copy(update={"offline": True})
    try:
        resolved = datasets.resolve(offline)
        return resolved, datasets.load_tasks(offline, resolved)
    except DatasetError:
        resolved = datasets.resolve(view)
        return resolved, datasets.load_tasks(view, resolved)


def _estimates(runs: Sequence[RunConfig]) -> Iterator[tuple[RunConfig, RequestEstimate]]:
    tasks: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        if run.samples.source != "model":
            continue
        view = run.dataset.model_dump_json(exclude={"split"})
        if view not in tasks:
            tasks[view] = tasks_of(run)
        chosen = resolve_settings(run.generation, run.dataset.split, sends=False)
        yield run, estimate_requests(chosen, tasks[view], open_store(run.store).root / "answers")

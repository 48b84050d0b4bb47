"""What runs would ask of models: requests, tokens and cost, for dry runs and before very many requests."""

import sys
from collections.abc import Iterator, Sequence
from typing import Any

import typer

from bigcodeflow import datasets
from bigcodeflow.cli.console import notice, notices, out
from bigcodeflow.config import RunConfig
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
    rows, notes = [], dict[str, None]()
    for run, found in _estimates(runs):
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
    if (requests := sum(found.requests for _, found in _estimates(runs))) > _MANY_REQUESTS:
        print_estimates(runs)
        typer.confirm(f"Send {requests:,} requests?", abort=True, err=True)


def tasks_of(config: RunConfig) -> list[dict[str, Any]]:
    """Load the tasks, from the hub cache if possible: a command without model requests should need no network."""
    offline = config.dataset.model_copy(update={"offline": True})
    try:
        tasks = datasets.load_tasks(offline, datasets.resolve(offline))
    except DatasetError:
        tasks = datasets.load_tasks(config.dataset, datasets.resolve(config.dataset))
    found: list[dict[str, Any]] = tasks.to_pylist()
    return found


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

"""Estimates of the requests, tokens and cost of runs, for dry runs and before runs with very many requests."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import typer

from bigcodeflow import datasets, generation
from bigcodeflow.cli.console import notice, notices, out
from bigcodeflow.config import DatasetConfig, RunConfig
from bigcodeflow.core.errors import ConfigError, DatasetError
from bigcodeflow.core.table import Column, Table
from bigcodeflow.generation.costs import RequestEstimate, estimate_requests
from bigcodeflow.generation.model_settings import missing_key, resolve_settings
from bigcodeflow.store import open_store

#: Number of requests above which the user is asked before the first one; the whole benchmark has 1,140 tasks.
_MANY_REQUESTS = 20_000
_MOST_TASKS = 1_140


def print_estimates(found: Iterable[tuple[RunConfig, RequestEstimate]]) -> None:
    """Print requests, tokens and cost of the runs that ask a model, one row each."""
    rows, notes = [], dict[str, None]()
    for run, estimate in found:
        most = "no limit" if estimate.most_completion_tokens is None else estimate.most_completion_tokens
        cost = "unknown" if estimate.most_cost_usd is None else f"${estimate.most_cost_usd:,.2f}"
        rows.append((run.name, estimate.samples, estimate.known, estimate.requests, estimate.prompt_tokens, most, cost))
        dated = f"prices of {estimate.price.as_of}" if estimate.price.price else "no list price is known for this model"
        notes |= dict.fromkeys(filter(None, (dated, estimate.price.note, missing_key(run.generation))))
    if not rows:
        return
    numbers = ("samples", "known", "requests", "tokens to read", "to write, at most", "cost, at most")
    out.print(Table.of(["setting", *(Column(heading, align="right") for heading in numbers)], rows))
    notice("known: answered before. Tokens at about four characters each; cost by list prices.")
    for line in notes:
        notice(f"note: {line}")


def confirm_requests(runs: Sequence[RunConfig], *, yes: bool) -> None:
    """Before more than 20,000 requests, print estimates and ask the user, unless ``yes``; 'no' ends the command."""
    most = sum(run.generation.n_samples * _MOST_TASKS for run in runs if run.samples.source == "model")
    found = list(estimates(runs)) if most > _MANY_REQUESTS and not yes else []
    if (requests := sum(estimate.requests for _, estimate in found)) <= _MANY_REQUESTS:
        return
    print_estimates(found)
    if not (sys.stdin.isatty() and notices.is_terminal):
        raise ConfigError(f"{requests:,} requests, and no terminal to confirm them at: pass --yes to send them")
    typer.confirm(f"Send {requests:,} requests?", abort=True, err=True)


def check_samples(run: RunConfig) -> None:
    """Check a run's sample file and raise its errors; print a note if some of the selected tasks have no sample."""
    if run.samples.source == "model":
        return
    resolved, tasks = _load_tasks(run.dataset)
    known = datasets.known_task_ids(run.dataset, resolved)
    samples = generation.load_samples(run.samples, tasks, known_task_ids=known, selection=True)
    answered = pc.count_distinct(samples["task_id"]).as_py()
    if answered < len(tasks):
        notice(f"note: {run.samples.source} answers {answered:,} of {len(tasks):,} tasks; only these are judged")


def tasks_of(config: RunConfig) -> list[dict[str, Any]]:
    """Load the tasks that the configuration selects, as dicts."""
    found: list[dict[str, Any]] = _load_tasks(config.dataset)[1].to_pylist()
    return found


def _load_tasks(view: DatasetConfig) -> tuple[datasets.ResolvedDataset, pa.Table]:
    """Load dataset and tasks from the hub's local cache, or else from the hub: most commands then need no network."""
    offline = view.model_copy(update={"offline": True})
    try:
        resolved = datasets.resolve(offline)
        return resolved, datasets.load_tasks(offline, resolved)
    except DatasetError:
        resolved = datasets.resolve(view)
        return resolved, datasets.load_tasks(view, resolved)


def estimates(runs: Sequence[RunConfig]) -> Iterator[tuple[RunConfig, RequestEstimate]]:
    """Yield each run that asks a model, with an estimate of its requests; send no request."""
    tasks: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        if run.samples.source != "model":
            continue
        view = run.dataset.model_dump_json(exclude={"split"})
        if view not in tasks:
            tasks[view] = tasks_of(run)
        chosen = resolve_settings(run.generation, run.dataset.split, sends=False)
        yield run, estimate_requests(chosen, tasks[view], open_store(run.store).root / "answers")

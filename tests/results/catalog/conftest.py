"""Stores with published artifacts and recorded runs, and questions to their catalogs."""

import duckdb
import pytest

from bigcodeflow.core.schemas import study_schemas
from bigcodeflow.store import open_store
from tests.results.conftest import publish_run, write_record


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "it's a [store]")


VIEWS = {
    "aggregation", "costs", "dataset", "execution", "failure_counts", "failures", "generation", "ground_truths",
    "left_out", "metrics", "pass_at_k", "runs", "samples", "sanitizing", "solutions", "solve_rate", "verdicts",
}  # fmt: skip
"""Those that every store has rows for."""
STUDY_VIEWS = {"studies", *study_schemas()}
TIMES = {"started_at": "2026-11-21T10:00:00+01:00", "finished_at": "2026-11-21T09:30:00Z"}


def ask(catalog, question):
    with duckdb.connect(catalog, read_only=True) as connection:
        return connection.execute(question).fetchall()


def publish(store, tables, name="first"):
    """Publish the tables and their metrics, record a run over them, and return the run's keys."""
    content = {"run": name, "config": {"name": name}} | TIMES
    return publish_run(store, tables, f"{name}-20261121", metrics=tables.metrics(), **content)


def record(store, name, **content):
    return write_record(store, f"{name}-20261121", **{"run": name, "config": {"name": name}, **TIMES, **content})

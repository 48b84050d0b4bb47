"""Questions that the views answer, and how they describe themselves."""

import pyarrow as pa
import pytest

from bigcodeflow.core.errors import ArtifactError
from bigcodeflow.core.schemas import SAMPLES
from bigcodeflow.results.catalog.building import rebuild_catalog
from bigcodeflow.results.catalog.description import describe_catalog
from bigcodeflow.store import open_store
from tests.conftest import ROOT
from tests.results.catalog.conftest import STUDY_VIEWS, VIEWS, ask, publish, record
from tests.results.conftest import Tables


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    """A task with several samples, one that was not judged, one whose ground truth fails."""
    folder = tmp_path_factory.mktemp("questions")
    store, tables = open_store(folder / "it's a [store]"), Tables(folder / "tables")
    tables.task("Demo/1", domains=["Math"], libs=["math"])
    tables.task("Demo/2", ground_truth="fail")
    for index, status in enumerate(("pass", "fail", "infra_error", "pass")):
        tables.sample("Demo/1", status, index=index, kind={"fail": "assertion"}.get(status, ""))
    tables.sample("Demo/2", "infra_error")
    keys = publish(store, tables)
    answers = [
        {"task_id": "Demo/1", "sample_index": index, "raw_text": "", "provider": "openai", "attempts": 1, **fields}
        for index, fields in enumerate((
            {"cost_usd": 0.1, "completion_tokens": 7, "latency_seconds": 1.0, "finish_reason": "length"},
            {"cost_usd": 0.2, "completion_tokens": 5, "latency_seconds": 9.0, "finish_reason": "refusal"},
            {"error": "timed out", "latency_seconds": 2.0},
        ))
    ]  # fmt: skip
    store.publish("generation", "a" * 64, pa.Table.from_pylist(answers, schema=SAMPLES), settings={})
    record(store, "first", artifacts=keys | {"generation": "a" * 64})
    record(store, "bare", artifacts={"dataset": keys["dataset"]})
    return rebuild_catalog(store.root)


class TestQuestions:
    """What the views over counts say, beside what the rows themselves say."""

    def test_solve_rate_leaves_unjudged_samples_aside(self, catalog):
        """Their task's rate is that of the others; a task without any judged sample has none."""
        question = "SELECT task_id, libs, domains, n_given, n_judged, n_passed, solve_rate, judgeable FROM solve_rate ORDER BY 1"
        assert ask(catalog, question) == [
            ("Demo/1", ["math"], ["Math"], 4, 3, 2, 2 / 3, True),
            ("Demo/2", [], [], 1, 0, 0, None, False),
        ]

    def test_failure_counts_are_those_of_the_failures(self, catalog):
        """Counts and rows tell the same, and samples that were not judged stand apart by their status."""
        counted = ask(catalog, "SELECT task_id, failure_kind, n_samples FROM failure_counts WHERE status = 'fail'")
        assert counted == ask(catalog, "SELECT task_id, failure_kind, count(*) FROM failures GROUP BY ALL")
        assert counted == [("Demo/1", "assertion", 1)]
        assert ask(catalog, "SELECT sum(n_samples) FROM failure_counts WHERE status = 'infra_error'") == [(2,)]

    def test_costs_tell_what_is_known(self, catalog):
        """Sums are over answers whose price is known; a run that did not get so far has none."""
        question = (
            "SELECT run, n_answers, n_cost_known, n_unanswered, n_truncated, n_refused, round(cost_usd, 9), "
            "prompt_tokens, completion_tokens, median_latency_seconds, n_verdicts, cpu_seconds, run_seconds "
            "FROM costs ORDER BY run"
        )
        assert ask(catalog, question) == [
            ("bare", None, None, None, None, None, None, None, None, None, None, None, 1800.0),
            ("first", 3, 2, 1, 1, 1, 0.3, None, 12, 2.0, 5, 5.0, 1800.0),
        ]

    def test_answers_programs_and_slices_are_found_by_run(self, catalog):
        """The texts are read from the files of the run; scores by domain are in one view with all the others."""
        assert ask(catalog, "SELECT count(*) FROM samples WHERE run = 'first' AND model = 'first'") == [(3,)]
        assert ask(catalog, "SELECT max(solution) FROM solutions WHERE run = 'first'") == [("solution 3",)]
        wanted = "run = 'first' AND metric = 'pass@k' AND slice_kind = 'domain'"
        assert ask(catalog, f"SELECT slice, value FROM metrics WHERE {wanted}") == [("Math", 2 / 3)]
        assert ask(catalog, "SELECT provisional FROM pass_at_k WHERE run = 'first'") == [(True,)]


class TestDescriptions:
    """Any client can show what views and columns mean."""

    def test_every_view_and_column_says_what_it_is(self, store):
        """The grain comes first, no column lacks its meaning, and columns of one name in two stages differ."""
        views = {view.name: view for view in describe_catalog(rebuild_catalog(store.root))[0]}
        assert views.keys() == VIEWS | STUDY_VIEWS
        for view in views.values():
            assert view.grain.startswith("Grain: one row "), view.name
            assert [column.name for column in view.columns if not column.meaning] == [], view.name
        for name, beginning in (("samples", "requests made"), ("verdicts", "executions that")):
            meanings = {column.name: column.meaning for column in views[name].columns}
            assert meanings["attempts"].startswith(beginning)

    def test_the_documentation_names_every_view(self):
        """docs/formats.md has a row for each of them."""
        text = (ROOT / "docs" / "formats.md").read_text().partition("\n## `results.duckdb`\n")[2].partition("\n## ")[0]
        named = {line.split("`")[1] for line in text.splitlines() if line.startswith("| `")}
        assert named - STUDY_VIEWS == VIEWS

    def test_a_file_that_is_no_catalog_is_named(self, tmp_path):
        """Its path, and what to do."""
        (tmp_path / "x.duckdb").write_bytes(b"no database")
        with pytest.raises(ArtifactError, match=r"x\.duckdb cannot be read .*build it again"):
            describe_catalog(tmp_path / "x.duckdb")

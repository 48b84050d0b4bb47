"""Verdicts in, metrics out, with real DuckDB over real Parquet files."""

import math

import duckdb
import pytest

from bigcodeflow.core.errors import ArtifactError, ExecutionError
from bigcodeflow.core.schemas import METRICS
from bigcodeflow.results import models
from bigcodeflow.results.aggregation import aggregate, ground_truth_failures
from bigcodeflow.results.statistics import clustered_interval, pass_at_k
from tests.results.conftest import Tables


def find(metrics, metric, slice_kind="all", slice_="all", *, k=None, variant="calibrated", sanitizer="parity"):
    """The one row of that identity."""
    wanted = {"metric": metric, "slice_kind": slice_kind, "slice": slice_, "k": k}
    wanted |= {"variant": variant, "sanitizer": sanitizer}
    [row] = [row for row in metrics.to_pylist() if {name: row[name] for name in wanted} == wanted]
    return row


def reported(metrics, metric="pass@k"):
    return sorted({row["k"] for row in metrics.to_pylist() if row["metric"] == metric})


def test_the_table_is_metrics_and_says_what_it_is_of(three_tasks):
    """The result has the METRICS schema, repeats split and subset in every row, and has no identity twice."""
    metrics = three_tasks.metrics(split="instruct", subset="hard")
    assert metrics.schema == METRICS
    assert {(row["split"], row["subset"]) for row in metrics.to_pylist()} == {("instruct", "hard")}
    identity = metrics.select(["variant", "sanitizer", "slice_kind", "slice", "metric", "k"])
    assert len({tuple(row.values()) for row in identity.to_pylist()}) == metrics.num_rows


def test_scores_over_all_and_over_judgeable_tasks(three_tasks):
    """Two of three pass; the task whose own solution fails here is in pass@k and not in pass@k_judgeable."""
    metrics = three_tasks.metrics()
    row = find(metrics, "pass@k", k=1)
    assert (row["value"], row["n_tasks"], row["n_samples"]) == (2 / 3, 3, 3)
    assert (row["ci_low"], row["ci_high"]) == clustered_interval([1.0, 1.0, 0.0])
    row = find(metrics, "pass@k_judgeable", k=1)
    assert (row["value"], row["n_tasks"], row["n_samples"]) == (0.5, 2, 2)
    rate = find(metrics, "ground_truth_rate", sanitizer="none")
    assert (rate["value"], rate["n_tasks"]) == (2 / 3, 3)
    assert rate["ci_low"] < 2 / 3 < rate["ci_high"]


def test_a_task_counts_in_each_of_its_domains_and_libraries(three_tasks):
    """Slices by domain and library hold every task that has them."""
    metrics = three_tasks.metrics()
    assert find(metrics, "pass@k", "domain", "Math", k=1)["value"] == 0.5
    assert find(metrics, "pass@k", "domain", "Network", k=1)["n_tasks"] == 2
    assert find(metrics, "pass@k", "library", "random", k=1)["value"] == 1.0
    assert find(metrics, "pass@k_judgeable", "library", "socket", k=1)["value"] == 0.0


def test_a_slice_without_judgeable_tasks_has_no_score(tables):
    """Where every ground truth fails the judgeable score is NaN over 0 tasks, not 0."""
    tables.task("Demo/1", ground_truth="timeout", kind="timeout")
    tables.sample("Demo/1", "fail")
    row = find(tables.metrics(), "pass@k_judgeable", k=1)
    assert math.isnan(row["value"])
    assert (row["n_tasks"], row["standard_error"], row["ci_low"]) == (0, None, None)


def test_ground_truth_failures_come_in_the_order_of_numbers(tables):
    """Failing tasks are listed by number, so that 3 stands before 10, with what became of each."""
    tables.task("Demo/10", ground_truth="fail", kind="import")
    tables.task("Demo/3", ground_truth="timeout", kind="timeout")
    tables.task("Demo/1")
    tables.task("custom", ground_truth="crash", kind="crash")
    tables.sample("Demo/1")
    failures = [("Demo/3", "timeout", "timeout"), ("Demo/10", "fail", "import"), ("custom", "crash", "crash")]
    assert ground_truth_failures(tables.paths()["ground_truth"]) == failures


def test_k_is_reported_only_where_every_task_has_samples_for_it(tables):
    """Two samples for one task and three for the other leave out k = 3."""
    for task_id, n_samples in (("Demo/1", 2), ("Demo/2", 3)):
        tables.task(task_id)
        for index in range(n_samples):
            tables.sample(task_id, "pass" if index == 0 else "fail", index=index)
    metrics = tables.metrics(k=(3, 2, 1, 1))
    assert reported(metrics) == reported(metrics, "pass@k_judgeable") == [1, 2]
    assert find(metrics, "pass@k", k=2)["value"] == pytest.approx((1 + 2 / 3) / 2, abs=1e-12)
    assert find(metrics, "pass@k", k=1)["n_samples"] == 5


class TestSeveralSamples:
    """Scores that need several samples a task, beside pass@k."""

    METRICS_OF_K = ("pass^k", "g_pass@k_0.5", "g_pass@k_0.75", "mg_pass@k")

    @pytest.fixture
    def four_samples(self, tables):
        """Four samples of each of two tasks, of which three and none pass."""
        for task_id, passed, library in (("Demo/1", 3, "math"), ("Demo/2", 0, "socket")):
            tables.task(task_id, libs=[library], domains=["Any"])
            for index in range(4):
                tables.sample(task_id, "pass" if index < passed else "fail", index=index)
        return tables

    def test_scores_are_means_over_tasks(self, four_samples):
        """3 of 4 and 0 of 4: the chances of 2 and 3 passing draws, by hand; k = 5 has too few samples, 1 is pass@1."""
        metrics = four_samples.metrics(k=(1, 2, 3, 5))
        expected = {("pass^k", 2): 1 / 2, ("g_pass@k_0.5", 2): 1, ("g_pass@k_0.75", 2): 1 / 2, ("mg_pass@k", 2): 1 / 2}
        expected |= {("pass^k", 3): 1 / 4, ("g_pass@k_0.5", 3): 1, ("g_pass@k_0.75", 3): 1 / 4, ("mg_pass@k", 3): 1 / 6}
        for (metric, k), score in expected.items():
            row = find(metrics, metric, k=k)
            assert row["value"] == pytest.approx(score / 2, abs=1e-12)
            assert (row["n_tasks"], row["n_samples"]) == (2, 8)
            assert row["ci_low"] <= row["value"] <= row["ci_high"]
        assert find(metrics, "avg@n")["value"] == find(metrics, "pass@k", k=1)["value"] == 3 / 8
        assert find(metrics, "bayes@n")["value"] == pytest.approx((4 / 6 + 1 / 6) / 2)
        assert [reported(metrics, metric) for metric in self.METRICS_OF_K] == [[2, 3]] * 4

    def test_slices_are_those_of_pass_at_k(self, four_samples):
        """Domains and libraries have every metric too."""
        metrics = four_samples.metrics(k=(2,))
        assert find(metrics, "pass^k", "library", "math", k=2)["value"] == pytest.approx(1 / 2)
        assert find(metrics, "avg@n", "library", "socket")["value"] == 0
        assert find(metrics, "bayes@n", "domain", "Any")["n_tasks"] == 2

    def test_one_sample_a_task_has_none_of_them(self, three_tasks):
        """With one sample each of them is pass@1 again: the table does not repeat it."""
        metrics = three_tasks.metrics(k=(1, 5))
        assert not {*self.METRICS_OF_K, "avg@n", "bayes@n"} & set(metrics["metric"].to_pylist())

    def test_samples_that_were_not_judged_leave_their_task(self, four_samples):
        """One unjudged sample of four leaves three: the task counts for k = 3 and in avg@n, no longer for k = 4."""
        four_samples.rows["verdicts"][0]["status"] = "infra_error"
        metrics = four_samples.metrics(k=(3, 4))
        assert find(metrics, "pass^k", k=3)["n_samples"] == 7
        assert find(metrics, "pass^k", k=4)["n_tasks"] == 1
        assert find(metrics, "avg@n")["value"] == pytest.approx((2 / 3 + 0) / 2)

    def test_a_k_that_no_task_was_judged_for_has_no_row(self, four_samples):
        """No row rather than one without a value."""
        for number in (0, 4):
            four_samples.rows["verdicts"][number]["status"] = "infra_error"
        metrics = four_samples.metrics(k=(4,))
        assert [reported(metrics, metric) for metric in self.METRICS_OF_K] == [[]] * 4

    def test_excluded_tasks_leave_these_scores_as_well(self, four_samples):
        """Quarantined tasks count in all of them or in none, as in pass@k."""
        excluded = four_samples.metrics(k=(2,), quarantined=["Demo/2"], exclude_quarantined=True)
        flagged = four_samples.metrics(k=(2,), quarantined=["Demo/2"])
        assert [find(one, "avg@n")["n_tasks"] for one in (excluded, flagged)] == [1, 2]
        assert [find(one, "pass^k", k=2)["value"] for one in (excluded, flagged)] == [1 / 2, 1 / 4]


def test_infra_errors_are_counted_out_and_shown(tables):
    """An unjudged sample is neither a fail nor a pass: its task leaves the score and the count says so."""
    for task_id, status in (("Demo/1", "pass"), ("Demo/2", "infra_error")):
        tables.task(task_id)
        tables.sample(task_id, status)
    score, count = (find(tables.metrics(), name, k=k) for name, k in (("pass@k", 1), ("infra_error_count", None)))
    assert (score["value"], score["n_tasks"], score["n_samples"]) == (1.0, 1, 1)
    assert (count["value"], count["n_samples"]) == (1.0, 2)


def test_an_infra_error_among_several_samples_shrinks_n(tables):
    """One pass, one fail and one unjudged sample make pass@1 one half, and pass@3 unknown although k = 3 was given."""
    tables.task("Demo/1")
    for index, status in enumerate(("pass", "fail", "infra_error")):
        tables.sample("Demo/1", status, index=index)
    metrics = tables.metrics(k=(1, 3))
    assert find(metrics, "pass@k", k=1)["value"] == 0.5
    assert math.isnan(find(metrics, "pass@k", k=3)["value"])


def test_outcomes_are_counted_and_shared(three_tasks):
    """Each status, failure kind and solution flag has its count and its share of all samples."""
    metrics = three_tasks.metrics()
    assert find(metrics, "sample_count")["value"] == 3.0
    assert find(metrics, "infra_error_count")["value"] == 0.0  # its absence could be read as 0
    assert find(metrics, "sample_count", "status", "pass")["value"] == 2.0
    assert find(metrics, "sample_share", "status", "fail")["value"] == 1 / 3
    assert find(metrics, "sample_count", "failure_kind", "assertion")["value"] == 1.0
    assert find(metrics, "sample_share", "solution", "truncated")["n_samples"] == 3
    assert {row["slice"] for row in metrics.to_pylist() if row["slice_kind"] == "failure_kind"} == {"assertion"}


def test_flags_of_a_solution_each_count_once(tables):
    """A solution with several flags and findings is one sample in each of them."""
    tables.task("Demo/1")
    findings = [{"rule": "process", "line": 1, "detail": "os.system"}] * 2
    tables.sample("Demo/1", "fail", syntax_ok=False, placeholder=True, blocked=True, findings=findings)
    rows = [row for row in tables.metrics().to_pylist() if row["slice_kind"] == "solution"]
    counted = {row["slice"]: row["value"] for row in rows if row["metric"] == "sample_count"}
    assert counted == dict.fromkeys(("syntax_error", "placeholder", "blocked", "safety_finding"), 1.0)


def test_variants_and_sanitizers_are_scored_apart(tables):
    """Each pair of variant and sanitizer has its own score, ks and counts."""
    tables.task("Demo/1")
    tables.sample("Demo/1", "pass", variants=("calibrated", "raw"))
    for index in range(2):
        tables.sample("Demo/1", "fail", index=index, variants=("calibrated", "raw"), sanitizer="robust")
    metrics = tables.metrics(k=(1, 2))
    assert find(metrics, "pass@k", k=1, variant="raw")["value"] == 1.0
    assert find(metrics, "pass@k", k=2, variant="raw", sanitizer="robust")["value"] == 0.0
    assert find(metrics, "sample_count", sanitizer="robust")["value"] == 2.0
    assert len([row for row in metrics.to_pylist() if row["metric"] == "pass@k" and row["slice_kind"] == "all"]) == 6


def test_verdicts_of_other_tasks_are_left_aside(three_tasks, tmp_path):
    """Full verdicts over a subset's tasks give the subset's score."""
    subset = Tables(tmp_path / "subset")
    subset.task("Demo/2")
    paths = {**three_tasks.paths(), "tasks": subset.paths()["tasks"]}
    metrics = aggregate(**paths, split="complete", subset="hard", k=(1,))
    assert find(metrics, "pass@k", k=1)["n_tasks"] == 1
    assert find(metrics, "sample_count")["value"] == 1.0
    assert find(metrics, "ground_truth_rate", sanitizer="none")["value"] == 1.0


def test_the_same_verdicts_give_the_same_table_in_any_order(three_tasks):
    """The order of rows in the files changes no digit and no row."""
    first = three_tasks.metrics()
    for rows in three_tasks.rows.values():
        rows.reverse()
    assert three_tasks.metrics().equals(first)


class TestIncomplete:
    """Tables from which a score would be wrong are refused, naming the first problem."""

    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            (
                lambda of: of.rows["verdicts"].pop(1),
                r"Demo/10, sample_index 0, variant calibrated, .* run the execution",
            ),
            (lambda of: of.verdict("Demo/3", "pass", variant="raw"), r"Demo/(2|10), .* variant raw, .* has no verdict"),
            (lambda of: of.task("Demo/99"), "task Demo/99 has no solution"),
            (lambda of: of.verdict("Demo/2", "pass", index=7), r"sample_index 7, .* has a verdict but no solution"),
            (lambda of: of.verdict("Demo/2", "pass"), r"Demo/2, .* has 2 verdicts"),
            (lambda of: of.rows["verdicts"].clear(), r"verdicts\.parquet: .* has no verdict \(further problems: 2\)"),
            (lambda of: of.rows["ground_truth"].pop(0), "task Demo/2 has no ground-truth verdict"),
            (lambda of: of.verdict("Demo/2", "pass", table="ground_truth"), "task Demo/2 has 2 ground-truth verdict"),
        ],
    )
    def test_a_row_too_few_or_too_many(self, three_tasks, change, problem):
        """A sample that was never executed, a variant that covers a part, a doubled verdict: no smaller n instead."""
        change(three_tasks)
        with pytest.raises(ExecutionError, match=problem):
            three_tasks.metrics()

    def test_a_file_that_is_missing_or_of_another_kind(self, three_tasks):
        """A Parquet file that is gone is named; a table that lacks the columns is an error of one line."""
        paths = three_tasks.paths()
        with pytest.raises(ArtifactError) as caught:
            aggregate(**{**paths, "verdicts": paths["tasks"]}, split="complete", subset="full", k=(1,))
        assert "\n" not in str(caught.value)
        paths["verdicts"].unlink()
        with pytest.raises(ArtifactError, match=r"verdicts\.parquet"):
            aggregate(**paths, split="complete", subset="full", k=(1,))


def test_sql_and_python_agree_on_every_small_count():
    """The SQL model gives what the Python formula gives, for all n up to 60, all c and several k."""
    with duckdb.connect() as connection:
        connection.execute("""
            CREATE TABLE task_counts AS
            SELECT 'calibrated' AS variant, 'none' AS sanitizer, n || '/' || c AS task_id, '' AS prefix, 60 AS n_given,
                   n AS n_judged, c AS n_passed, true AS judgeable
            FROM range(0, 61) AS ns(n), range(0, n + 1) AS cs(c)
        """)
        connection.execute("CREATE TABLE requested_k AS SELECT unnest([1, 2, 5, 10, 60])::INTEGER AS k")
        rows = models.rows_of(connection, "task_scores")
    assert len(rows) == 5 * 61 * 62 // 2
    for row in rows:
        n_samples, n_passed = map(int, row["task_id"].split("/"))
        expected = pass_at_k(n_samples, n_passed, row["k"])
        assert row["pass_at_k"] == pytest.approx(expected, abs=1e-12, nan_ok=True)


def test_every_model_states_its_grain_first():
    """The first line of every SQL file says what one row of it is."""
    files = sorted(models._SQL.rglob("*.sql"))
    assert len(files) > 10
    assert [file.name for file in files if not file.read_text().startswith("-- Grain: one row")] == []

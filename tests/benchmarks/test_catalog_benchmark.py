"""The catalog's benchmark on a small store: what it makes is a store, and what it prints is measured on it."""

import catalog as benchmark
import duckdb
import pytest

from bigcodeflow.results import CATALOG_NAME

SIZE = benchmark.Size(models=2, tasks=12, samples=3)


@pytest.mark.slow
def test_a_small_store_is_measured(tmp_path, capsys):
    """All rebuilds and questions are in the tables, and the catalog over the made store has every verdict."""
    tasks, base = benchmark.made_up_base()
    benchmark.fill_store(tmp_path, base, tasks, SIZE)
    benchmark.measure(tmp_path, base, tasks, SIZE)
    printed = capsys.readouterr().out
    assert "3 runs, 108 verdicts" in printed
    for row in ("from nothing", "nothing changed", "one run more", *benchmark.QUESTIONS):
        assert f"| {row} |" in printed
    with duckdb.connect(tmp_path / CATALOG_NAME, read_only=True) as catalog:

        def one(query):
            return catalog.execute(f"SELECT {query}").fetchone()

        assert one("count(*), count(DISTINCT verdict_key) FROM verdicts") == (108, 108)
        assert one("count(DISTINCT model) FROM pass_at_k") == (3,)
        [passed] = one("count(*) FROM verdicts WHERE status = 'pass'")
        assert one("sum(n_judged), sum(n_passed) FROM solve_rate") == (108, passed)
        assert 0 < passed < 108
        assert one("count(*) FROM failures WHERE first_trace NOT LIKE 'Traceback%'") == (0,)

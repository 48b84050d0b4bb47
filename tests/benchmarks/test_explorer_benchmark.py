"""The explorer's benchmark on a small store: every page answers, and catalog and report are made."""

import explorer as benchmark
import explorer_store
import pytest


@pytest.mark.slow
def test_a_small_store_is_measured(tmp_path, capsys):
    """Each page has a row with its times; catalog and report have a line."""
    root = tmp_path / "store"
    explorer_store.fill(root, benchmark.models(2), nights=2, tasks=explorer_store.starter_tasks(60))
    benchmark.measure_catalog_and_report(root)
    benchmark.measure(root, 1, tmp_path / "cache")
    printed = capsys.readouterr().out
    assert "catalog, nothing changed: " in printed
    assert "report of 4 runs: " in printed
    for page in benchmark.addresses(root):
        assert f"| {page} |" in printed

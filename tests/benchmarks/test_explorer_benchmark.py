"""The explorer's benchmark on a small store: every page answers, and what it prints is measured."""

import explorer as benchmark
import explorer_store
import pytest

from bigcodeflow.results import rebuild_catalog


@pytest.mark.slow
def test_a_small_store_is_measured(tmp_path, capsys):
    """Each page has a row with its times."""
    root = tmp_path / "store"
    explorer_store.fill(root, benchmark.models(2), nights=2, tasks=explorer_store.starter_tasks(60))
    rebuild_catalog(root)
    benchmark.measure(root, 1, tmp_path / "cache")
    printed = capsys.readouterr().out
    for page in benchmark.addresses(root):
        assert f"| {page} |" in printed

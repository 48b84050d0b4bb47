"""Repair rounds whose requests go by a batch API."""

from pathlib import Path

import pytest

from tests.generation.test_repair import RoundTables, _ask, _settings, round_of

from .double import KEY, Account, account_server


@pytest.mark.slow
def test_a_round_is_one_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where requests go by a batch API, those of a round go together; a round that was asked costs nothing again."""
    monkeypatch.setenv("BATCHES_KEY", KEY)
    with account_server(Account("openai")) as account:
        config = _settings(base_url=account.base_url, api_key_variable="BATCHES_KEY", requests={"batch": True}).config
        first = round_of({"T/1": "fail", "T/2": "fail", "T/3": "pass"})
        table, _ = _ask(config, [first], tmp_path)
        _ask(config, [first, RoundTables(table, *round_of({"T/1": "fail", "T/2": "pass"})[1:])], tmp_path)
        assert _ask(config, [first], tmp_path)[0].equals(table)
    assert [len(batch.entries) for batch in account.batches.values()] == [2, 1]

"""The worker's advice for a run whose process was killed."""

import sys

import pytest
from prefect._internal import infrastructure_exit_codes as exit_codes

from bigcodeflow.prefect_service.worker_process import give_own_advice


def test_a_killed_run_is_not_told_to_take_more_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed by hand or by the kernel: what is kept, and the settings that bound memory; other ends keep their texts."""
    other = exit_codes.get_infrastructure_exit_info(1)
    monkeypatch.setattr(exit_codes, "INFRASTRUCTURE_EXIT_HINTS", dict(exit_codes.INFRASTRUCTURE_EXIT_HINTS))
    give_own_advice()
    for code in (-9, 137):
        advice = exit_codes.get_infrastructure_exit_info(code)
        text = f"{advice.explanation} {advice.resolution}"
        for part in ("SIGKILL", "answers and verdicts are kept", "execution.workers", "execution.limits.memory_mib"):
            assert part in text
        assert "llocation" not in text
    assert exit_codes.get_infrastructure_exit_info(1) == other


def test_another_version_of_prefect_has_no_such_texts(monkeypatch) -> None:
    """Then Prefect's worker starts as it is."""
    monkeypatch.setitem(sys.modules, "prefect._internal.infrastructure_exit_codes", None)
    give_own_advice()

"""The worker's advice for a run whose process was killed."""

import subprocess
import sys

from prefect._internal.infrastructure_exit_codes import get_infrastructure_exit_info

from bigcodeflow.prefect_service.worker_process import give_own_advice


def test_a_killed_run_is_not_told_to_take_more_memory() -> None:
    """Killed by hand or by the kernel: what is kept, and the settings that bound memory; other ends keep their texts."""
    program = (
        "from bigcodeflow.prefect_service.worker_process import give_own_advice; give_own_advice()\n"
        "from prefect._internal.infrastructure_exit_codes import get_infrastructure_exit_info as told\n"
        "for code in (-9, 137, 1): print(told(code).explanation, told(code).resolution)"
    )
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    killed, also, other = done.stdout.splitlines()
    assert killed == also
    for text in ("SIGKILL", "answers and verdicts are kept", "execution.workers", "execution.limits.memory_mib"):
        assert text in killed
    assert "llocation" not in killed
    assert other == " ".join(get_infrastructure_exit_info(1).__dict__[name] for name in ("explanation", "resolution"))


def test_another_version_of_prefect_has_no_such_texts(monkeypatch) -> None:
    """Then Prefect's worker starts as it is."""
    monkeypatch.setitem(sys.modules, "prefect._internal.infrastructure_exit_codes", None)
    give_own_advice()

"""Prefect's worker as `up` starts it: `python -m bigcodeflow.prefect_service.worker_process start OPTION …`.

For every killed process, Prefect's worker advises to increase the memory allocation. Runs here have none: settings
limit the memory of their samples. This worker prints advice about these settings instead.
"""

import runpy
import sys
from contextlib import suppress
from dataclasses import replace
from importlib import import_module

_KILLED = "The run's process was killed (SIGKILL): by hand, or by the kernel because the machine had no memory left."
_ADVICE = (
    "Finished stages, answers and verdicts are kept; the last line of this log says how to go on. Where memory was "
    "short, which `dmesg` tells, lower execution.workers, or execution.limits.memory_mib, which bounds each sample."
)
_HINTS = "prefect._internal.infrastructure_exit_codes"
#: Exit codes after SIGKILL: of the worker's own child process, and as reported by a shell or a container.
_KILLED_CODES = (-9, 137)


def give_own_advice() -> None:
    """Replace Prefect's text about killed processes; do nothing if this version of Prefect has no such text."""
    with suppress(ImportError, AttributeError, KeyError, TypeError):
        hints = import_module(_HINTS).INFRASTRUCTURE_EXIT_HINTS
        for code in _KILLED_CODES:
            hints[code] = replace(hints[code], explanation=_KILLED, resolution=_ADVICE)


if __name__ == "__main__":
    give_own_advice()
    sys.argv = ["prefect", "--no-prompt", "worker", *sys.argv[1:]]
    runpy.run_module("prefect", run_name="__main__", alter_sys=True)

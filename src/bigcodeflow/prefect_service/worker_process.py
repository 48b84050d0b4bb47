"""Prefect's worker as `up` starts it: `python -m bigcodeflow.prefect_service.worker_process start OPTION …`.

Prefect's worker says of every process that was killed that its memory allocation is to be increased. A run here has
none: what its samples may take is bounded by settings. So the worker says that instead.
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
#: As a process of the worker's own is reported, and as a shell or a container reports it.
_KILLED_CODES = (-9, 137)


def give_own_advice() -> None:
    """Replace what Prefect says of killed processes; another version of Prefect may have no such texts."""
    with suppress(ImportError, AttributeError, KeyError, TypeError):
        hints = import_module(_HINTS).INFRASTRUCTURE_EXIT_HINTS
        for code in _KILLED_CODES:
            hints[code] = replace(hints[code], explanation=_KILLED, resolution=_ADVICE)


if __name__ == "__main__":
    give_own_advice()
    sys.argv = ["prefect", "--no-prompt", "worker", *sys.argv[1:]]
    runpy.run_module("prefect", run_name="__main__", alter_sys=True)

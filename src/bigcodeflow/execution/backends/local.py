"""The local backend: every sample in a process of its own, inside bubblewrap, on this machine."""

import os
import secrets
import tempfile
from pathlib import Path

from bigcodeflow.config import LimitsConfig
from bigcodeflow.environments import InstalledEnvironment
from bigcodeflow.errors import SandboxUnavailableError
from bigcodeflow.execution.backends import bubblewrap
from bigcodeflow.execution.backends.base import Capabilities, Outcome
from bigcodeflow.execution.backends.process import SIGKILL_EXITS, Bounds, memory_file, observe, process_limits
from bigcodeflow.execution.items import WorkItem
from bigcodeflow.sandbox import protocol

_HARNESS_FOLDER = Path(protocol.__file__).parent
_PROBES = 3


class LocalBackend:
    """Runs items in bubblewrap sandboxes; without bubblewrap only after a check that was allowed to find none."""

    name = "local"

    def __init__(self, environment: InstalledEnvironment, limits: LimitsConfig, *, isolated: bool = True) -> None:
        self._environment, self._limits, self._isolated = environment, limits, isolated

    def check(self, *, allow_unisolated: bool = False) -> Capabilities:
        """Start one empty sandbox and say which layers hold; from then on items run in such sandboxes.

        Raises:
            SandboxUnavailableError: bubblewrap is missing or cannot start here, and unisolated runs are not allowed.
        """
        try:
            self._probe()
        except SandboxUnavailableError:
            if not allow_unisolated:
                raise
            self._isolated = False
            return Capabilities(isolated=False, layers=("process limits",))
        user = "unprivileged user" if os.getuid() == 0 else "user namespace"
        return Capabilities(
            isolated=True,
            layers=(
                user,
                "mount, PID, IPC, UTS and network namespaces",
                "read-only system",
                "sized temporary folder",
                "no new privileges",
                "process limits",
                "CPU and memory of the process tree",
            ),
        )

    def execute(self, item: WorkItem) -> Outcome:
        """Run one item to its end or to its limits."""
        if self._isolated:
            return self._execute_isolated(item)
        with tempfile.TemporaryDirectory(prefix="bigcodeflow-", ignore_cleanup_errors=True) as folder:
            return self._execute_unisolated(item, folder)

    def _probe(self) -> None:
        item = WorkItem("", "", _EMPTY_TEST, ("test_nothing",), 60.0, frozenset())
        outcome, attempts = self._execute_isolated(item), 1
        while outcome.exit in SIGKILL_EXITS and attempts < _PROBES:
            outcome, attempts = self._execute_isolated(item), attempts + 1
        if [frame["event"] for frame in outcome.frames][-1:] != ["end"]:
            told = " ".join(outcome.stderr.split())[-300:] or outcome.exit
            raise SandboxUnavailableError(
                f"bubblewrap cannot start a sandbox here ({told}): allow unprivileged user namespaces, run as root, or "
                "pass --allow-unisolated on a machine that you can lose"
            )

    def _job(self, item: WorkItem, *, work_folder: str) -> dict[str, object]:
        template = self._environment.home_template
        return {
            "nonce": secrets.token_hex(16),
            "program": item.program,
            "test": item.test,
            "home_template": str(template) if template else "",
            "work_folder": work_folder,
            "rlimits": process_limits(
                address_space_mib=self._limits.address_space_mib,
                cpu_seconds=item.time_seconds,
                processes=self._limits.processes,
                disk_mib=self._limits.disk_mib,
            ),
        }

    def _bounds(self, item: WorkItem) -> Bounds:
        return Bounds(
            wall_seconds=item.time_seconds,
            cpu_seconds=item.time_seconds,
            rss_mib=self._limits.memory_mib,
            output_bytes=self._limits.output_kib << 10,
        )

    def _execute_isolated(self, item: WorkItem) -> Outcome:
        uid = bubblewrap.sandbox_uid()
        files = {name: memory_file("etc", text) for name, text in bubblewrap.identity_files(uid).items()}
        try:
            command = bubblewrap.command(
                environment=self._environment,
                harness_folder=_HARNESS_FOLDER,
                limits=self._limits,
                uid=uid,
                data_fds=files,
                as_root=os.getuid() == 0,
            )
            job = self._job(item, work_folder=bubblewrap.WORK_FOLDER)
            return observe(command, job=job, bounds=self._bounds(item), data_fds=tuple(files.values()))
        finally:
            for descriptor in files.values():
                os.close(descriptor)

    def _execute_unisolated(self, item: WorkItem, folder: str) -> Outcome:
        command = [str(self._environment.python), "-I", str(_HARNESS_FOLDER / "harness.py")]
        places = {"HOME": f"{folder}/home", "TMPDIR": folder}
        return observe(
            command,
            job=self._job(item, work_folder=f"{folder}/work"),
            bounds=self._bounds(item),
            variables=bubblewrap.variables(self._environment) | places,
        )


_EMPTY_TEST = """import unittest
class TestCases(unittest.TestCase):
    def test_nothing(self):
        pass
"""

"""A Dask scheduler and workers as processes of their own, for tests that kill them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

import psutil

WAIT_SECONDS = 120.0


def wait_for(condition: Callable[[], object], what: str) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, f"waited {WAIT_SECONDS:g} s for {what}"
        time.sleep(0.05)


class DaskHosts:
    """A scheduler and workers, each a process that can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._started: list[subprocess.Popen[bytes]] = []
        self.address = ""

    def scheduler(self) -> "subprocess.Popen[bytes]":
        """Start the scheduler; again at the address of the first one."""
        file = self._folder / "scheduler.json"
        file.unlink(missing_ok=True)
        port = self.address.rpartition(":")[2] or "0"
        process = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", port, "--dashboard-address", "127.0.0.1:0",
            "--scheduler-file", str(file),
        )  # fmt: skip
        wait_for(lambda: file.exists() and file.read_text(), "the scheduler")  # it is there before its one line is
        self.address = json.loads(file.read_text())["address"]
        return process

    def worker(self, threads: int = 2, **variables: str) -> "subprocess.Popen[bytes]":
        """Start a worker that has no part in the driver's folder."""
        home = self._folder / f"worker-{len(self._started)}"
        home.mkdir()
        return self._start(
            "worker", self.address, "--nthreads", str(threads), "--no-dashboard", "--local-directory", str(home),
            "--host", "127.0.0.1", cwd=home, **variables,
        )  # fmt: skip

    def _start(
        self, what: str, *arguments: str, cwd: Path | None = None, **variables: str
    ) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{what}", *arguments],
            env=os.environ | {"DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "60s"} | variables,
            cwd=cwd or self._folder,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._started.append(process)
        return process

    def kill(self, process: "subprocess.Popen[bytes]") -> None:
        """kill -9 of a process and of everything that it started."""
        with_children = [process.pid, *_descendants(process.pid)]
        for pid in with_children:
            try:
                os.kill(pid, 9)
            except ProcessLookupError:
                continue
        process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End everything."""
        for process in self._started:
            if process.poll() is None:
                self.kill(process)


def _descendants(pid: int) -> list[int]:
    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return []

"""A space as a process of its own, on loopback."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from tests.serving.services import answers, free_port, until


class SpaceProcess:
    """Starts a space and waits until it answers."""

    def __init__(self, folder: Path, *options: str, key: str = "", **variables: str) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = folder / f"space-{self.port}.log"
        command = [sys.executable, "-m", "bigcodeflow.serving.space", "--environment", "starter"]
        command += ["--port", str(self.port), "--store", str(folder / "store"), *options]
        own = {"BIGCODEFLOW_SERVICE_KEY": key, "GRADIO_TEMP_DIR": str(folder / "uploads")}
        with self.log.open("ab") as log:
            options = {"stdout": log, "stderr": log, "stdin": subprocess.DEVNULL, "cwd": self.log.parent}
            self.process = subprocess.Popen(command, env=os.environ | own | variables, **options)
        assert until(lambda: self.process.poll() is not None or answers(self.url)), self.log.read_text()
        assert self.process.poll() is None, self.log.read_text()

    def offspring(self) -> list[psutil.Process]:
        """Everything that it started and that still lives, sandboxes included."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def stop(self) -> int:
        """As an administrator stops it; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(120)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        return self.process.returncode

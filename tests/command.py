"""Calls of the command line, in this process or in a process of its own, and what they print."""

import asyncio
import io
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bigcodeflow.cli import console
from bigcodeflow.cli.main import main

Command = Callable[..., "subprocess.CompletedProcess[str]"]

_VARIABLES = {"COLUMNS": "160", "NO_COLOR": "1"}
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def command_in(folder: Path) -> Command:
    """A command that runs in this process with a folder as the working directory."""

    def call(*arguments: str | Path, check: bool = True, **variables: str) -> "subprocess.CompletedProcess[str]":
        if _has_event_loop():  # a browser's test left Playwright's running, in which no command can run its own
            return process_in(folder)(*arguments, check=check, **variables)
        words = ["bigcodeflow", *map(str, arguments)]
        with _surroundings(folder, words, _VARIABLES | variables) as (stdout, stderr):
            done = subprocess.CompletedProcess(words, _exit_code(), _text(stdout), _text(stderr))
        return _checked(done, check=check)

    return call


def add_distribution(folder: Path, name: str, entry_points: str) -> None:
    """Make the folder, which has to be on the path, hold an installed distribution with these entry points."""
    metadata = folder / f"{name}-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(entry_points)


def process_in(folder: Path) -> Command:
    """A command that runs as a process of its own, as a user's shell starts it."""

    def call(*arguments: str | Path, check: bool = True, **variables: str) -> "subprocess.CompletedProcess[str]":
        words = [str(Path(sys.executable).with_name("bigcodeflow")), *map(str, arguments)]
        environ = os.environ | _VARIABLES | variables
        done = subprocess.run(words, cwd=folder, env=environ, capture_output=True, text=True, check=False)
        return _checked(done, check=check)

    return call


def _has_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def _checked(done: "subprocess.CompletedProcess[str]", *, check: bool) -> "subprocess.CompletedProcess[str]":
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def _exit_code() -> int:
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    return 0


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    return stream.buffer.getvalue().decode()


@contextmanager
def _surroundings(
    folder: Path, words: list[str], variables: dict[str, str]
) -> Iterator[tuple[io.TextIOWrapper, io.TextIOWrapper]]:
    """Give the command the streams, variables and working directory of a process; undo what it sets in this one."""
    environ, handlers = dict(os.environ), {number: signal.getsignal(number) for number in _SIGNALS}
    root, dask = logging.getLogger(), logging.getLogger("distributed")
    log_handlers, levels = list(root.handlers), (root.level, dask.level)
    streams = tuple(io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "argv", words)
        patch.setattr(sys, "stdin", io.StringIO())
        for name, stream in zip(("stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        for shown in (console.out, console.notices):  # they read variables and the terminal's colors once only
            patch.setattr(shown, "width", int(variables["COLUMNS"]))
            patch.setattr(shown, "_color_system", None)
        os.environ.update(variables)
        try:
            yield streams
        finally:
            os.environ.clear()
            os.environ.update(environ)
            for number, handler in handlers.items():
                signal.signal(number, handler)
            root.handlers[:] = log_handlers
            root.setLevel(levels[0])
            dask.setLevel(levels[1])

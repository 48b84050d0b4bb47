"""Executions of checks use files that are in memory: a file that is read for the first time could hold a message."""

import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import pytest

from bigcodeflow.judge.environments import InstalledEnvironment
from bigcodeflow.judge.host.base import READ_FROM_DISK
from bigcodeflow.judge.host.local import LocalBackend

from .conftest import LIMITS, RIGHT, item

pytestmark = pytest.mark.sandbox

_HELPERS = """import mmap, os, pydoc_data.topics, resource, signal, sys
FILE = pydoc_data.topics.__file__
def read(flags=0):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_inblock
    os.preadv(os.open(FILE, os.O_RDONLY | flags), [mmap.mmap(-1, 1 << 16)], 0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_inblock > before
def orphan(work):
    ready, done = os.pipe()
    if os.fork() == 0:
        if os.fork() == 0:
            work()
            os.write(done, b"x")
        os._exit(0)
    os.wait()
    os.read(ready, 1)
"""


@pytest.fixture(scope="module")
def backend(starter_environment: InstalledEnvironment) -> Iterator[LocalBackend]:
    with closing(LocalBackend(starter_environment, LIMITS, warm=True)) as local:
        if "files that are read first, except in checks" not in local.check().open_channels:
            pytest.skip("this machine's file system keeps no files in memory, or samples start cold")
        yield local


def test_after_a_cold_start_nobody_knows_what_was_read(starter_environment: InstalledEnvironment) -> None:
    assert "files that are read first" in LocalBackend(starter_environment, LIMITS).check().open_channels


def _outcome(backend: LocalBackend, statement: str, *, from_memory: bool) -> tuple[str, str]:
    found = backend.execute(replace(item(f"{_HELPERS}{statement}\n{RIGHT}"), from_memory=from_memory))
    return found.exit, found.stdout


def test_an_execution_that_reads_a_file_for_the_first_time_is_repeated(backend: LocalBackend) -> None:
    """So that what it reads is in memory, whatever an earlier execution has read."""
    file = _outcome(backend, "print(FILE)", from_memory=False)[1].strip()
    for from_memory, expected in ((False, "True\n"), (True, "False\n")):
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)
        assert _outcome(backend, "print(read())", from_memory=from_memory) == ("exit 0", expected)


@pytest.mark.parametrize("statement", ["read(os.O_DIRECT)", "orphan(lambda: read(os.O_DIRECT))"])
def test_who_reads_from_the_disk_each_time_is_told(backend: LocalBackend, statement: str) -> None:
    """Reads of children count that nobody has waited for; other items may read what they like."""
    assert _outcome(backend, statement, from_memory=False)[0] == "exit 0"
    assert _outcome(backend, statement, from_memory=True)[0].startswith(READ_FROM_DISK)

"""No sample uses up a quota that the kernel keeps for each user, and so tells another that runs beside it."""

import os
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import pytest

from bigcodeflow.judge.host.base import Backend
from bigcodeflow.judge.items import WorkItem

from .attacks import TEST
from .conftest import LIMITS

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(os.getuid() != 0, reason="samples of an ordinary user have this user's quotas; doctor says so"),
]

_HELPERS = """import ctypes, errno, fcntl, os, select, signal, socket, time
libc = ctypes.CDLL(None, use_errno=True)
KEPT = []

def repeated(work, most=5000):
    for number in range(most):
        try:
            KEPT.append(work())
        except OSError as error:
            return errno.errorcode[error.errno]
        if KEPT[-1] == -1:
            return errno.errorcode[ctypes.get_errno()]

def large_pipe():
    ends = os.pipe()
    fcntl.fcntl(ends[0], fcntl.F_SETPIPE_SZ, 1 << 20)
    return ends

def signalled():
    return libc.sigqueue(os.getpid(), 35, ctypes.c_void_p(1))

def descriptor_in_flight():
    here, there = socket.socketpair()
    socket.send_fds(here, [b"x"], [here.fileno()])
    there.detach(), here.detach()

def queue():
    return libc.mq_open(b"/q%d" % len(KEPT), 0o102, 0o600, None)

signal.pthread_sigmask(signal.SIG_BLOCK, [35])
"""
#: Ways to use up a quota, each with a look at it.
QUOTAS = {
    "pages of pipes": ("repeated(large_pipe)", "fcntl.fcntl(os.pipe()[0], fcntl.F_GETPIPE_SZ)"),
    "inotify instances": ("repeated(libc.inotify_init)", "libc.inotify_init() >= 0"),
    "pending signals": ("repeated(signalled, 200_000)", "signalled()"),
    "message queues": ("repeated(queue)", "queue() >= 0"),
    "descriptors in flight": ("repeated(descriptor_in_flight)", "repeated(descriptor_in_flight, 3)"),
}


def _program(expressions: Iterable[str], seconds: float = 0.0) -> WorkItem:
    body = "".join(f"    print({one}, flush=True)\n" for one in expressions)
    program = f"{_HELPERS}\ndef task_func():\n{body}    time.sleep({seconds})\n    return 42\n"
    return WorkItem("key", program, TEST, ("test_answer",), LIMITS.time_seconds, frozenset())


def test_a_quota_that_a_sample_uses_up_is_its_own(contained_backend: Backend) -> None:
    """Another that runs beside it sees the same of each quota as when it runs alone."""
    looking = _program(look for _, look in QUOTAS.values())
    using = _program((use_up for use_up, _ in QUOTAS.values()), seconds=1.5)
    alone = contained_backend.execute(looking).stdout.splitlines()
    with ThreadPoolExecutor() as pool:
        used_up = pool.submit(contained_backend.execute, using)
        time.sleep(0.75)
        beside = contained_backend.execute(looking).stdout.splitlines()
    assert len(used_up.result().stdout.splitlines()) == len(QUOTAS)
    assert dict(zip(QUOTAS, beside, strict=True)) == dict(zip(QUOTAS, alone, strict=True))

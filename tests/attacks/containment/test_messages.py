"""No execution leaves the next one a message: one sample tries to leave a bit, a later one to read it."""

from typing import NamedTuple

import pytest

from bigcodeflow.judge.host.base import Backend
from bigcodeflow.judge.items import WorkItem

from .attacks import TEST
from .conftest import LIMITS

pytestmark = pytest.mark.sandbox

_HELPERS = """import ctypes, errno, fcntl, mmap, os, pydoc_data.topics, resource, socket, time
libc = ctypes.CDLL(None, use_errno=True)
FILE = pydoc_data.topics.__file__

def opened():
    return os.open(FILE, os.O_RDONLY)

def read_from_disk():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_inblock
    os.pread(opened(), 1 << 20, 0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_inblock > before

def mapped():
    return mmap.mmap(opened(), 0, prot=mmap.PROT_READ)

def in_the_background(work):
    ready, done = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            work()
            os.write(done, b"x")
            time.sleep(3)
        os._exit(0)
    os.read(ready, 1)

def attempted(work, *given):
    try:
        return work(*given)
    except OSError as error:
        return errno.errorcode[error.errno]

def exists(path):
    return os.path.exists(path)

def make(path):
    open(path, "w").close()

def listening(name="\\0message"):
    server = socket.socket(socket.AF_UNIX)
    server.bind(name)
    server.listen()
    globals()["kept"] = server
"""
_SYSCALLS = {"add_key": (248, 217), "keyctl": (250, 219)}
_RESIDENT = """(lambda pages, length: (libc.mincore(ctypes.c_void_p(libc_map(length)), ctypes.c_size_t(length), pages),
    sum(byte & 1 for byte in pages.raw)))(ctypes.create_string_buffer(64), 64 * 4096)"""
_LIBC_MAP = """
def libc_map(length):
    libc.mmap.restype = ctypes.c_void_p
    return libc.mmap(None, ctypes.c_size_t(length), 1, 1, opened(), ctypes.c_long(0))
"""


class Channel(NamedTuple):
    """A way to leave a bit, and a way to read it, as Python expressions."""

    leave: str
    look: str


_EVICT = "os.posix_fadvise(opened(), 0, 0, os.POSIX_FADV_DONTNEED)"
CHANNELS = {
    "evicted by advice, read from the disk": Channel(_EVICT, "read_from_disk()"),
    "evicted by advice, asked without waiting": Channel(
        _EVICT, "attempted(os.preadv, opened(), [bytearray(4096)], 4096 * 9, os.RWF_NOWAIT)"
    ),
    "evicted by advice, listed by page": Channel(_EVICT, _RESIDENT),
    "evicted as mapped memory": Channel("attempted(mapped().madvise, 21)", "read_from_disk()"),
    "evicted by a write that is awaited": Channel(
        "libc.sync_file_range(opened(), ctypes.c_long(0), ctypes.c_long(0), 7)", "read_from_disk()"
    ),
    "a file in a temporary folder": Channel("make('/tmp/message')", "exists('/tmp/message')"),
    "a file in shared memory": Channel("make('/dev/shm/message')", "exists('/dev/shm/message')"),
    "a file beside a module": Channel("attempted(make, FILE + '.message')", "exists(FILE + '.message')"),
    "the time of a file": Channel("attempted(os.utime, FILE, (1, 1))", "os.stat(FILE)[7:]"),
    "a shared segment": Channel("libc.shmget(77, 4096, 0o1666)", "libc.shmget(77, 4096, 0)"),
    "a message queue": Channel("libc.mq_open(b'/message', 0o102, 0o666, None)", "libc.mq_open(b'/message', 2)"),
    "a key of the user": Channel(
        "libc.syscall(NUMBERS['add_key'], b'user', b'message', b'1', ctypes.c_size_t(1), ctypes.c_int(-4))",
        "libc.syscall(NUMBERS['keyctl'], 10, ctypes.c_int(-4), b'user', b'message', 0)",
    ),
    "a lock of a process left behind": Channel(
        "in_the_background(lambda: fcntl.flock(opened(), fcntl.LOCK_EX))",
        "attempted(fcntl.flock, opened(), fcntl.LOCK_EX | fcntl.LOCK_NB)",
    ),
    "a socket of a process left behind": Channel(
        "in_the_background(listening)", "attempted(socket.socket(socket.AF_UNIX).connect, '\\0message')"
    ),
}


def _executed(backend: Backend, expression: str) -> str:
    numbers = f"NUMBERS = {{name: pair[os.uname().machine != 'x86_64'] for name, pair in {_SYSCALLS!r}.items()}}\n"
    program = f"{_HELPERS}{_LIBC_MAP}{numbers}\ndef task_func():\n    print(repr({expression}))\n    return 42\n"
    outcome = backend.execute(WorkItem("key", program, TEST, ("test_answer",), LIMITS.time_seconds, frozenset()))
    assert outcome.stdout, outcome.stderr
    return outcome.stdout


@pytest.mark.parametrize("name", CHANNELS)
def test_a_later_sample_reads_the_same_whichever_bit_was_left(contained_backend: Backend, name: str) -> None:
    """Also as the same program in the same worker, which is how a check follows a pass."""
    found = []
    for leave in (CHANNELS[name].leave, "None"):
        _executed(contained_backend, "read_from_disk()")  # the file is in memory
        _executed(contained_backend, leave)
        found.append(_executed(contained_backend, CHANNELS[name].look))
    assert found[0] == found[1]

"""The filter of system calls: what it says, call by call, and what a process notices that wears it."""

import errno
import json
import re
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bigcodeflow.judge.guest import kernel

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
ALLOW, KILL = 0x7FFF0000, 0x80000000
NEW_NAMESPACE_FLAGS = (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000)
HEADERS = {
    "x86_64": (Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"), r"#define __NR_(\w+)\s+(\d+)"),
    "aarch64": (Path("/usr/include/asm-generic/unistd.h"), r"#define __NR(?:3264)?_(\w+)\s+(\d+)"),
}
TABLE = kernel.REFUSED | kernel._ABSENT | kernel._IGNORED | kernel._EXAMINED

machines = st.sampled_from(sorted(ARCHITECTURES))
words = st.integers(0, (1 << 64) - 1)
arguments = st.lists(words, min_size=6, max_size=6)


def number_of(machine: str, name: str) -> int | None:
    return TABLE[name][sorted(ARCHITECTURES, reverse=True).index(machine)]


def refused(error: int) -> int:
    return 0x50000 | error


def verdict_on(machine: str, number: int, given: list[int], architecture: int | None = None) -> int:
    """What the kernel would answer: runs the filter over one call, and fails on anything that the kernel would refuse."""
    data = struct.pack("=IIQ6Q", number, architecture or ARCHITECTURES[machine], 0, *given)
    program = kernel.seccomp_program(machine)
    assert program is not None
    code = list(struct.iter_unpack("=HBBI", program))
    assert len(code) <= 4096
    accumulator, at = 0, 0
    while True:
        operation, when_true, when_false, value = code[at]
        at += 1
        if operation == 0x06:  # return
            return value
        if operation == 0x20:  # load a word
            assert value % 4 == 0
            accumulator = int.from_bytes(data[value : value + 4], "little")
        else:  # jump if equal, if at least, if any bit is set
            compare = {0x15: int.__eq__, 0x35: int.__ge__, 0x45: int.__and__}[operation]
            at += when_true if compare(accumulator, value) else when_false


@pytest.mark.parametrize(
    ("calls", "error"),
    [
        (kernel.REFUSED, errno.EPERM),
        (kernel._ABSENT, errno.ENOSYS),  # makes libc take clone instead of clone3, whose flags a filter cannot see
        (kernel._IGNORED, 0),  # success, so that libraries that advise the kernel go on
    ],
    ids=["refused", "absent", "ignored"],
)
@given(machines, st.data(), arguments)
def test_a_call_that_no_sample_needs_does_nothing_whatever_its_arguments(
    calls: dict, error: int, machine: str, data: st.DataObject, given: list[int]
) -> None:
    """No argument opens it, and the caller sees an ordinary error, or none."""
    number = number_of(machine, data.draw(st.sampled_from(sorted(calls))))
    if number is not None:
        assert verdict_on(machine, number, given) == refused(error)


@given(machines, st.integers(0, 0x3FFFFFFF), arguments)
@example("x86_64", 59, [0] * 6)
@example("aarch64", 221, [0] * 6)
def test_every_other_call_is_allowed(machine: str, number: int, given: list[int]) -> None:
    """Tasks may use all of the kernel that is not named, calls of the future included."""
    named = {number_of(machine, name) for name in TABLE}
    assert number in named or verdict_on(machine, number, given) == ALLOW


@given(machines, st.integers(0, (1 << 32) - 1), st.integers(0, (1 << 32) - 1), arguments)
def test_another_architecture_is_killed(machine: str, architecture: int, number: int, given: list[int]) -> None:
    """Numbers of another instruction set mean other calls, so none of them is let through."""
    if architecture not in (0, ARCHITECTURES[machine]):
        assert verdict_on(machine, number, given, architecture) == KILL


@given(st.integers(0x40000000, (1 << 32) - 1), arguments)
def test_the_x32_calls_are_refused(number: int, given: list[int]) -> None:
    """The second set of numbers on x86_64 is no way around the first."""
    assert verdict_on("x86_64", number, given) == refused(errno.EPERM)


@given(machines, words, arguments)
@example("x86_64", 0x10000000 | 17, [0] * 6)
@example("aarch64", 0x003D0F00, [0] * 6)  # what a thread is made with
@example("x86_64", 0x01200011, [0] * 6)  # what fork is made with
def test_clone_makes_processes_and_threads_but_no_namespace(machine: str, flags: int, given: list[int]) -> None:
    """Refused exactly when one of the seven flags is set, in the half of the argument that the kernel reads."""
    asks = any(flags & flag for flag in NEW_NAMESPACE_FLAGS)
    expected = refused(errno.EPERM) if asks else ALLOW
    assert verdict_on(machine, number_of(machine, "clone"), [flags, *given[1:]]) == expected


@pytest.mark.parametrize(
    ("name", "index", "values", "allowed", "error"),
    [
        # Two requests would type into a terminal.
        ("ioctl", 1, [0x5412, 0x541C], lambda low: low not in (0x5412, 0x541C), errno.EPERM),
        # Setting a personality would switch off the protections of memory.
        ("personality", 0, [0xFFFFFFFF], lambda low: low == 0xFFFFFFFF, errno.EPERM),
        # Unix, both internet protocols and netlink; the others, some outside every namespace, seem not to be built.
        ("socket", 0, range(64), lambda low: low in (1, 2, 10, 16), errno.EAFNOSUPPORT),
        ("socketpair", 0, range(64), lambda low: low in (1, 2, 10, 16), errno.EAFNOSUPPORT),
        # Two kinds of advice evict pages of files; they succeed and do nothing.
        ("madvise", 2, range(32), lambda low: low not in (20, 21), 0),
        # Flags ask if the disk has to be read, or keep pages out of memory.
        ("preadv2", 5, range(32), lambda low: low == 0, errno.EOPNOTSUPP),
        ("pwritev2", 5, range(32), lambda low: low == 0, errno.EOPNOTSUPP),
    ],
)
@given(data=st.data())
def test_some_calls_are_refused_by_the_half_of_an_argument_that_the_kernel_reads(
    name: str, index: int, values: Sequence[int], allowed: Callable[[int], bool], *, error: int, data: st.DataObject
) -> None:
    """Whatever stands in the half that it ignores, and in the other arguments."""
    machine, given_ = data.draw(machines), data.draw(arguments)
    low, high = (
        data.draw(st.sampled_from(values) | st.integers(0, (1 << 32) - 1)),
        data.draw(st.integers(0, (1 << 32) - 1)),
    )
    given_[index] = low | high << 32
    expected = ALLOW if allowed(low) else refused(error)
    assert verdict_on(machine, number_of(machine, name), given_) == expected


@pytest.mark.parametrize("machine", sorted(ARCHITECTURES))
def test_the_numbers_are_the_kernels(machine: str) -> None:
    """Every number stands so in the headers of the kernel, and no name is left out that the architecture has."""
    path, pattern = HEADERS[machine]
    if not path.exists():
        pytest.skip(f"no kernel headers for {machine} here")
    known = {name: int(number) for name, number in re.findall(pattern, path.read_text())}
    for name in TABLE:
        number = number_of(machine, name)
        if number is None:
            assert name not in known
        else:
            assert known.get(name, number) == number, name
    assert len(known.keys() & TABLE.keys()) > 50


def test_an_unknown_machine_has_no_filter() -> None:
    """Numbers that are not known are not guessed."""
    assert kernel.seccomp_program("riscv64") is None


_WEARING = """
import ctypes, errno, json, os, signal, socket, subprocess, sys
sys.path.insert(0, sys.argv[1])
import kernel
kernel.prepare_seccomp(kernel.seccomp_program())()
libc = ctypes.CDLL(None, use_errno=True)

def code(action):
    try:
        action()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

def libc_code(name, *arguments):
    return errno.errorcode[ctypes.get_errno()] if getattr(libc, name)(*arguments) == -1 else "done"

def clone(flags):
    number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    child = libc.syscall(number, flags | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    return errno.errorcode[ctypes.get_errno()] if child < 0 else "done"

print(json.dumps({
    "unshare": libc_code("unshare", 0x10000000),
    "mount": libc_code("mount", b"none", b"/tmp", b"tmpfs", 0, None),
    "ptrace": libc_code("ptrace", 0, 0, None, None),
    "clone": clone(0x10000000),
    "fork": clone(0),
    "vsock": code(lambda: socket.socket(40, socket.SOCK_STREAM)),
    "personality": libc_code("personality", 0x0040000),
    "shmget": libc_code("shmget", 0, 4096, 0o1600),
    "terminal": code(os.openpty),
    "status": [line.split()[1] for line in open("/proc/self/status") if line.startswith(("NoNewPrivs", "Seccomp:"))],
    "child": subprocess.run(["unshare", "-r", "true"], stderr=subprocess.DEVNULL).returncode != 0,
}))
"""


@pytest.mark.skipif(not kernel.seccomp_available(), reason="this kernel filters no system calls")
@pytest.mark.parametrize("name", ["starter_environment", "bigcodebench_environment"])
def test_a_process_that_wears_it(request: pytest.FixtureRequest, name: str) -> None:
    """Refusals are ordinary errors, which children inherit, in each environment's Python."""
    environment = request.getfixturevalue(name)
    folder = str(Path(kernel.__file__).parent)
    command = [str(environment.python), "-I", "-c", _WEARING, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "unshare": "EPERM",
        "mount": "EPERM",
        "ptrace": "EPERM",
        "clone": "EPERM",
        "fork": "done",
        "vsock": "EAFNOSUPPORT",
        "personality": "EPERM",
        "shmget": "ENOSYS",
        "terminal": "done",
        "status": ["1", "2"],
        "child": True,
    }


@pytest.mark.skipif(not kernel.seccomp_available(), reason="this kernel filters no system calls")
def test_a_filter_that_the_kernel_refuses_is_reported() -> None:
    """A damaged filter is an error, never a process that runs without."""
    program = "from bigcodeflow.judge.guest import kernel\nkernel.prepare_seccomp(b'\\xff' * 8)()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "OSError: [Errno 22] the kernel does not take the seccomp filter" in done.stderr


@pytest.mark.sandbox
@pytest.mark.skipif(not kernel.seccomp_available(), reason="this kernel filters no system calls")
def test_samples_wear_it(judge: Callable[..., dict]) -> None:
    """A sample in a real sandbox is filtered."""
    program = "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('Seccomp:')])\n"
    assert judge(program + "def task_func():\n    return 42\n")["stdout"] == "['2']\n"

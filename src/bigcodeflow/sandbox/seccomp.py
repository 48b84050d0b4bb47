"""The system calls that no sample needs, as a seccomp filter: refused with an ordinary error, never by a crash.

A filter is a program of the kernel's classic packet filter that looks at one call (its number, its architecture, its
arguments, never at memory) and says what to do. Everything that is not refused is allowed: tasks use too much of the
kernel for a list of what is good. The filter is a second wall; namespaces, the dropped privileges and the read-only
mounts hold without it. It takes away what reaches far into the kernel, above all new user namespaces, in which a
program would be root again.

Outside, ``bwrap --seccomp`` takes the bytes of ``program()``; inside, what ``prepare()`` returns puts them on a thread.
Layouts and constants: linux/filter.h, linux/seccomp.h, asm/unistd.h.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
from functools import lru_cache

TYPE_CHECKING = False  # typing itself would cost the import of a module that the program then finds loaded
if TYPE_CHECKING:
    from collections.abc import Callable

    _Code = list[tuple[int, int, int, int]]

_ARCHITECTURES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
"""Machine, as uname names it, → audit number that the kernel gives to its native calls."""
_X32_BIT = 0x4000_0000
"""Set in the numbers of a second set of calls on x86_64, which would otherwise walk around the filter."""


def _calls(*rows: str) -> dict[str, tuple[int, int | None]]:
    """Rows of 'name, number on x86_64, number on aarch64', by name; '-': the architecture never had it."""
    calls = [call.split() for row in rows for call in row.split(",")]
    return {name: (int(x86_64), None if aarch64 == "-" else int(aarch64)) for name, x86_64, aarch64 in calls}


REFUSED = _calls(
    # New namespaces and mounts: a program that is root in a user namespace of its own reaches all of these.
    "unshare 272 97, setns 308 268, mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51",
    "move_mount 429 429, open_tree 428 428, open_tree_attr 467 467, fsopen 430 430, fsconfig 431 431",
    "fsmount 432 432, fspick 433 433, mount_setattr 442 442",
    # Other processes' memory and descriptors.
    "ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, kcmp 312 272, pidfd_getfd 438 438",
    # Doors into the kernel with a long record of holes.
    "bpf 321 280, perf_event_open 298 241, userfaultfd 323 282, io_uring_setup 425 425, io_uring_enter 426 426",
    "io_uring_register 427 427, vmsplice 278 75, modify_ldt 154 -, lookup_dcookie 212 18",
    "open_by_handle_at 304 265, fanotify_init 300 262, nfsservctl 180 42, uselib 134 -, _sysctl 156 -",
    # Keys belong to a user, not to a namespace.
    "add_key 248 217, request_key 249 218, keyctl 250 219",
    # The machine itself: kernel, modules, swap, accounts, quotas, hardware.
    "kexec_load 246 104, kexec_file_load 320 294, create_module 174 -, init_module 175 105, finit_module 313 273",
    "delete_module 176 106, get_kernel_syms 177 -, query_module 178 -, reboot 169 142, swapon 167 224",
    "swapoff 168 225, acct 163 89, quotactl 179 60, quotactl_fd 443 443, syslog 103 116, iopl 172 -",
    "ioperm 173 -, vhangup 153 58",
    # Clock and names.
    "settimeofday 164 170, clock_settime 227 112, clock_adjtime 305 266, adjtimex 159 171, sethostname 170 161",
    "setdomainname 171 162",
)
"""Calls that fail with EPERM whatever their arguments are."""

_ABSENT = _calls(
    # The flags of clone3 lie in memory; libc then takes clone, whose flags can be looked at.
    "clone3 435 435, memfd_secret 447 447",
    # System V's memory, queues and semaphores stay when no process uses them, and so are on nobody's account.
    "shmget 29 194, msgget 68 186, semget 64 190",
)
"""Calls that fail with ENOSYS, as on a kernel without them, so that libraries take another way."""

_EXAMINED = _calls("clone 56 220, ioctl 16 29, personality 135 92, socket 41 198, socketpair 53 199")
"""Calls that are refused with certain arguments only."""

_NEW_NAMESPACES = 0x7E02_0000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID and NEWNET; clone cannot make a time namespace."""
_TERMINAL_REQUESTS = (0x5412, 0x541C)
"""TIOCSTI types into a terminal, TIOCLINUX pastes into a console."""
_QUERY_PERSONALITY = 0xFFFF_FFFF
_SOCKET_FAMILIES = (1, 2, 10, 16)
"""AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK, which lists network interfaces."""

_LOAD_WORD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_AT_NUMBER, _AT_ARCHITECTURE, _AT_ARGUMENTS = 0, 4, 16
_ALLOW, _ERROR, _KILL_PROCESS = 0x7FFF_0000, 0x0005_0000, 0x8000_0000
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
_ACTIONS_FILE = "/proc/sys/kernel/seccomp/actions_avail"
_INSTRUCTION = struct.Struct("=HBBI")


def available() -> bool:
    """Whether this machine's architecture is known here and its kernel filters system calls."""
    if os.uname().machine not in _ARCHITECTURES:
        return False
    try:
        with open(_ACTIONS_FILE, encoding="utf-8") as file:
            return {"errno", "kill_process"} <= set(file.read().split())
    except OSError:
        return False


@lru_cache(maxsize=None)
def program(machine: str = "") -> bytes | None:
    """The filter for a machine, as an array of ``struct sock_filter``; None for one whose calls are not known here.

    Args:
        machine: as uname names it; empty is this one.
    """
    machine = machine or os.uname().machine
    if machine not in _ARCHITECTURES:
        return None
    column = list(_ARCHITECTURES).index(machine)
    code: _Code = [*_load(_AT_ARCHITECTURE), (_JUMP_EQUAL, 1, 0, _ARCHITECTURES[machine]), *_return(_KILL_PROCESS)]
    code += _load(_AT_NUMBER)
    if machine == "x86_64":
        code += _when(_JUMP_AT_LEAST, _X32_BIT, _return(_ERROR | errno.EPERM))
    for table, error in ((REFUSED, errno.EPERM), (_ABSENT, errno.ENOSYS)):
        for number in (numbers[column] for numbers in table.values()):
            if number is not None:
                code += _when(_JUMP_EQUAL, number, _return(_ERROR | error))
    for name, numbers in _EXAMINED.items():
        code += _when(_JUMP_EQUAL, numbers[column] or 0, _examine(name))
    return b"".join(_INSTRUCTION.pack(*instruction) for instruction in code + _return(_ALLOW))


def prepare(filter_program: bytes | None = None) -> Callable[[], None]:
    """A function that puts a filter on the calling thread and on everything that it will start, for good.

    Everything that takes time or imports is done beforehand. The function raises OSError where the kernel refuses.
    Without an argument the filter is this machine's, and the function does nothing where there is none.
    """
    filter_program = filter_program or (program() if available() else None)
    if not filter_program:
        return lambda: None
    header = _Program(len(filter_program) // _INSTRUCTION.size, filter_program)
    prctl, last_error, word = ctypes.CDLL(None, use_errno=True).prctl, ctypes.get_errno, ctypes.c_ulong
    filtering = (_PR_SET_SECCOMP, word(_SECCOMP_MODE_FILTER), ctypes.byref(header))
    steps = ((_PR_SET_NO_NEW_PRIVS, word(1), word(0)), filtering)

    def put_on() -> None:
        for option, value, where in steps:
            if prctl(option, value, where, word(0), word(0)) != 0:
                code = last_error()
                raise OSError(code, "the kernel does not take the seccomp filter: " + os.strerror(code))

    return put_on


class _Program(ctypes.Structure):
    """struct sock_fprog: the number of instructions, and where they are."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _examine(name: str) -> _Code:
    """What is done about a call after a look at the low words of its arguments, which is all that the kernel uses."""
    refuse = _return(_ERROR | errno.EPERM)
    if name == "clone":
        return _load_argument(0) + _when(_JUMP_ANY_BIT, _NEW_NAMESPACES, refuse) + _return(_ALLOW)
    if name == "ioctl":
        tests = [_when(_JUMP_EQUAL, request, refuse) for request in _TERMINAL_REQUESTS]
        return sum(tests, _load_argument(1)) + _return(_ALLOW)
    if name == "personality":
        return _load_argument(0) + _when(_JUMP_EQUAL, _QUERY_PERSONALITY, _return(_ALLOW)) + refuse
    tests = [_when(_JUMP_EQUAL, family, _return(_ALLOW)) for family in _SOCKET_FAMILIES]
    return sum(tests, _load_argument(0)) + _return(_ERROR | errno.EAFNOSUPPORT)


def _load(offset: int) -> _Code:
    return [(_LOAD_WORD, 0, 0, offset)]


def _load_argument(index: int) -> _Code:
    return _load(_AT_ARGUMENTS + 8 * index)  # both architectures keep the low word of an argument first


def _when(test: int, value: int, then: _Code) -> _Code:
    """Code that runs ``then`` where the loaded word passes the test, and is passed over where not."""
    return [(test, 0, len(then), value), *then]


def _return(action: int) -> _Code:
    return [(_RETURN, 0, 0, action)]

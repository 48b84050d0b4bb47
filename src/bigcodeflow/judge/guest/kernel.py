"""Linux features for which Python has no function: namespaces, mounts, privileges, and a seccomp filter.

The C library is called with the GIL held, so that a process created here has only one thread, as after os.fork.

The seccomp filter refuses system calls that no sample needs, with an ordinary error, never by a crash. It is a classic
BPF program, which sees the number, architecture and arguments of a call, never memory. It is a deny list, because tasks
use too many system calls for an allow list. It is a second layer of defence: namespaces, dropped privileges and
read-only mounts protect without the filter. It refuses calls with deep access to the kernel, above all calls that make
user namespaces, in which a program would be root again. Outside the sandbox, ``bwrap --seccomp`` takes the filter of
``seccomp_program()``; inside, the function that ``prepare_seccomp()`` returns applies this filter to a thread.
Constants: linux/filter.h, linux/seccomp.h, asm/unistd.h.
"""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import socket
import struct
from functools import lru_cache

TYPE_CHECKING = False  # importing typing costs time, and the program would see it in sys.modules
if TYPE_CHECKING:
    from collections.abc import Callable
    from socket import SocketType as Socket

    _Code = list[tuple[int, int, int, int]]

NEW_NAMESPACES = 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x40000000  # mount, UTS, IPC, user, network
NEW_PID_NAMESPACE = 0x20000000

READ_ONLY, NO_SUID, NO_DEVICES, NO_EXECUTABLES = 1, 2, 4, 8
_REMOUNT, _BIND = 32, 4096

_CALLS = {"x86_64": {"clone": 56, "capset": 126}, "aarch64": {"clone": 220, "capset": 91}}
# The same on every architecture; Python builds with old kernel headers or libraries lack these functions.
_PIDFD_OPEN, _CLOSE_RANGE = 434, 436
#: A capability that is safe to keep: in a user namespace it has no effect.
IDLE_CAPABILITY = 36  # CAP_BLOCK_SUSPEND

_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63
_SET_DUMPABLE, _DROP_FROM_BOUNDING_SET, _SET_NO_NEW_PRIVILEGES = 4, 24, 38
_AMBIENT, _CLEAR_ALL_AMBIENT = 47, 4
_SET_INTERFACE_FLAGS, _INTERFACE_UP = 0x8914, 1
_DESCRIPTOR = struct.Struct("i")
_MOST_DESCRIPTORS = 16
_WATCHING = (("/proc/sys/user/max_inotify_instances", "4"), ("/proc/sys/user/max_inotify_watches", "1024"))

_libc = ctypes.PyDLL(None, use_errno=True)


def _checked(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def _call(number: int, *arguments: int) -> int:
    result: int = _libc.syscall(ctypes.c_long(number), *[ctypes.c_long(argument) for argument in arguments])
    return result


def clone(flags: int) -> int:
    """Fork into new namespaces; return the child's process id, and 0 in the child.

    The child runs none of Python's after-fork hooks: use this function only for a small process that mostly waits.
    """
    number = _CALLS[os.uname().machine]["clone"]
    return _checked(_call(number, flags | signal.SIGCHLD, 0, 0, 0, 0), "clone")


def join(descriptor: int, flags: int) -> None:
    """Enter the namespaces of a process (``descriptor`` is a pidfd) or one namespace (an open /proc/PID/ns file)."""
    _checked(_libc.setns(descriptor, flags), "setns")


def mount(kind: str, place: str, flags: int, options: str = "") -> None:
    """Mount a new file system of type ``kind`` at the path ``place``; raise OSError if the kernel refuses."""
    name = kind.encode()
    result = _libc.mount(name, place.encode(), name, ctypes.c_ulong(flags), options.encode())
    _checked(result, f"mount {kind} at {place}")


def mask(path: str) -> None:
    """Make a file impossible to open: bind-mount /dev/null over it, with devices disabled."""
    for flags in (_BIND, _BIND | _REMOUNT | READ_ONLY | NO_SUID | NO_DEVICES | NO_EXECUTABLES):
        _checked(_libc.mount(b"/dev/null", path.encode(), None, ctypes.c_ulong(flags), None), f"mask {path}")


def process_descriptor(pid: int) -> int:
    """Return a pidfd of the process ``pid``: a descriptor that refers to this process even if its pid is reused."""
    return _checked(_call(_PIDFD_OPEN, pid, 0), "pidfd_open")


def drop_privileges(kept: int | None = None) -> None:
    """Drop every capability except ``kept`` permanently, so that executed programs cannot regain any (no_new_privs).

    A process without capabilities cannot inspect or trace a process that has one, even of the same user.
    """
    prctl = _libc.prctl
    for capability in range(_LAST_CAPABILITY + 1):
        if prctl(_DROP_FROM_BOUNDING_SET, capability, 0, 0, 0) < 0:
            break  # the kernel has no higher capability
    _libc.prctl(_AMBIENT, _CLEAR_ALL_AMBIENT, 0, 0, 0)
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    number = _CALLS[os.uname().machine]["capset"]
    mask = 0 if kept is None else 1 << kept
    low, high = mask & 0xFFFFFFFF, mask >> 32
    wanted = struct.pack("=6I", low, low, 0, high, high, 0)  # effective, permitted, inheritable: low words, then high
    _checked(_libc.syscall(ctypes.c_long(number), header, wanted), "capset")
    _checked(_libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")


def write_user_map(pid: int | str, inside: int, user: int, group: int, further: str = "") -> None:
    """Map ``user`` and ``group``, ids outside, to the id ``inside`` in the new user namespace of process ``pid``.

    ``further`` holds additional lines of uid_map, for other user ids.
    """
    _write(f"/proc/{pid}/uid_map", f"{inside} {user} 1\n{further}")
    _write(f"/proc/{pid}/setgroups", "deny")
    _write(f"/proc/{pid}/gid_map", f"{inside} {group} 1")


def limit_watching() -> None:
    """Limit the inotify watches of this new user namespace, so that watches remain for other namespaces."""
    for name, most in _WATCHING:
        if os.path.exists(name):
            _write(name, most)


def show_self() -> None:
    """Make this process dumpable: processes of the same user can then read its /proc files and join its namespaces."""
    _libc.prctl(_SET_DUMPABLE, 1, 0, 0, 0)


def be_first_to_go() -> None:
    """Tell the kernel to kill this process before others when the machine runs out of memory."""
    _write("/proc/self/oom_score_adj", "1000")


def raise_loopback() -> None:
    """Bring up the loopback interface of this network namespace."""
    request = ctypes.create_string_buffer(struct.pack("16sh22x", b"lo", _INTERFACE_UP))
    handle = socket.SocketType(socket.AF_INET, socket.SOCK_DGRAM)
    result = _libc.ioctl(handle.fileno(), _SET_INTERFACE_FLAGS, request)  # not fcntl: it would load a library each time
    handle.close()
    _checked(result, "loopback")


def close_from(lowest: int) -> None:
    """Close every descriptor from number ``lowest`` upwards; on old kernels this function needs /proc."""
    if _call(_CLOSE_RANGE, lowest, 0xFFFF_FFFF, 0) == 0:
        return
    for name in os.listdir("/proc/self/fd"):
        if int(name) >= lowest:
            os.closerange(int(name), int(name) + 1)  # ignores the already closed descriptor of listdir, unlike os.close


def connection(descriptor: int) -> Socket:
    """Return a low-level socket for a descriptor: with socket.socket, a fork would copy more memory pages."""
    return socket.SocketType(fileno=descriptor)


def send(connection: Socket, data: bytes, *descriptors: int) -> None:
    rights = struct.pack(f"{len(descriptors)}i", *descriptors)
    connection.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)] if descriptors else [])


def receive(connection: Socket, size: int = 1 << 16) -> tuple[bytes, list[int]]:
    """Receive one message; return its bytes (empty when the connection is closed) and its descriptors."""
    data, rights, _, _ = connection.recvmsg(size, socket.CMSG_SPACE(_MOST_DESCRIPTORS * _DESCRIPTOR.size))
    found: list[int] = []
    for level, kind, content in rights:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            found += (one for (one,) in _DESCRIPTOR.iter_unpack(content))
    return data, found


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode("ascii"))
    finally:
        os.close(descriptor)


#: Machine name of uname → audit number (AUDIT_ARCH) of its native system calls.
_ARCHITECTURES = {"x86_64": 0xC000_003E, "aarch64": 0xC000_00B7}
#: Bit in the numbers of the x32 calls on x86_64, which would otherwise bypass the filter.
_X32_BIT = 0x4000_0000


def _calls(*rows: str) -> dict[str, tuple[int, int | None]]:
    """Parse rows of 'name x86_64-number aarch64-number' into name → numbers; '-' (None): aarch64 lacks the call."""
    calls = [call.split() for row in rows for call in row.split(",")]
    return {name: (int(x86_64), None if aarch64 == "-" else int(aarch64)) for name, x86_64, aarch64 in calls}


REFUSED = _calls(
    # New namespaces and mounts: a program that is root in its own user namespace can use all of these.
    "unshare 272 97, setns 308 268, mount 165 40, umount2 166 39, pivot_root 155 41, chroot 161 51",
    "move_mount 429 429, open_tree 428 428, open_tree_attr 467 467, fsopen 430 430, fsconfig 431 431",
    "fsmount 432 432, fspick 433 433, mount_setattr 442 442",
    # Other processes' memory and descriptors.
    "ptrace 101 117, process_vm_readv 310 270, process_vm_writev 311 271, kcmp 312 272, pidfd_getfd 438 438",
    # Kernel interfaces with a long history of vulnerabilities.
    "bpf 321 280, perf_event_open 298 241, userfaultfd 323 282, io_uring_setup 425 425, io_uring_enter 426 426",
    "io_uring_register 427 427, vmsplice 278 75, modify_ldt 154 -, lookup_dcookie 212 18",
    "open_by_handle_at 304 265, fanotify_init 300 262, nfsservctl 180 42, uselib 134 -, _sysctl 156 -",
    # Keys belong to a user, not to a namespace.
    "add_key 248 217, request_key 249 218, keyctl 250 219",
    # Tell if a page of a file is in memory, or evict it: executions could leave each other messages in files of /usr.
    "mincore 27 232, process_madvise 440 440, sync_file_range 277 84",
    # The machine itself: kernel, modules, swap, accounting, quotas, hardware.
    "kexec_load 246 104, kexec_file_load 320 294, create_module 174 -, init_module 175 105, finit_module 313 273",
    "delete_module 176 106, get_kernel_syms 177 -, query_module 178 -, reboot 169 142, swapon 167 224",
    "swapoff 168 225, acct 163 89, quotactl 179 60, quotactl_fd 443 443, syslog 103 116, iopl 172 -",
    "ioperm 173 -, vhangup 153 58",
    # Clock and names.
    "settimeofday 164 170, clock_settime 227 112, clock_adjtime 305 266, adjtimex 159 171, sethostname 170 161",
    "setdomainname 171 162",
)
"""Calls that always fail with EPERM."""

_ABSENT = _calls(
    # The flags of clone3 lie in memory; libc falls back to clone, whose flags the filter can check.
    "clone3 435 435, memfd_secret 447 447",
    # System V memory, queues and semaphores outlive their processes, so no limit counts them.
    "shmget 29 194, msgget 68 186, semget 64 190",
    # Counts of pages in memory, and requests that all programs of the machine have to share.
    "cachestat 451 451, io_setup 206 0",
)
"""Calls that fail with ENOSYS, as on a kernel without them, so that libraries use a fallback."""

_IGNORED = _calls("fadvise64 221 223, readahead 187 213")
"""Calls that succeed and do nothing: libraries advise the kernel, and programs could evict pages of files with them."""

_EXAMINED = _calls(
    "clone 56 220, ioctl 16 29, personality 135 92, socket 41 198, socketpair 53 199, madvise 28 233",
    "preadv2 327 286, pwritev2 328 287",
)
"""Calls that are refused, or ignored, only with certain arguments."""

_CLONE_FLAGS_REFUSED = 0x7E02_0000
"""CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET; clone cannot make a time namespace."""
_TERMINAL_REQUESTS = (0x5412, 0x541C)
"""Refused ioctl requests: TIOCSTI types into a terminal, TIOCLINUX pastes into a console."""
_EVICTING_ADVICE = (20, 21)
"""Ignored advice of madvise: MADV_COLD and MADV_PAGEOUT evict pages."""
_QUERY_PERSONALITY = 0xFFFF_FFFF
_SOCKET_FAMILIES = (1, 2, 10, 16)
"""Allowed families: AF_UNIX, AF_INET, AF_INET6 and AF_NETLINK, which lists network interfaces."""

_LOAD_WORD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_AT_NUMBER, _AT_ARCHITECTURE, _AT_ARGUMENTS = 0, 4, 16
_ALLOW, _ERROR, _KILL_PROCESS = 0x7FFF_0000, 0x0005_0000, 0x8000_0000
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2
_ACTIONS_FILE = "/proc/sys/kernel/seccomp/actions_avail"
_INSTRUCTION = struct.Struct("=HBBI")


def seccomp_available() -> bool:
    """Return True if this machine's architecture is supported and its kernel has the required seccomp actions."""
    if os.uname().machine not in _ARCHITECTURES:
        return False
    try:
        with open(_ACTIONS_FILE, encoding="utf-8") as file:
            return {"errno", "kill_process"} <= set(file.read().split())
    except OSError:
        return False


@lru_cache(maxsize=None)
def seccomp_program(machine: str = "") -> bytes | None:
    """Return the seccomp filter (``struct sock_filter`` array) for ``machine`` ('': this machine); None if unknown."""
    machine = machine or os.uname().machine
    if machine not in _ARCHITECTURES:
        return None
    column = list(_ARCHITECTURES).index(machine)
    code: _Code = [*_load(_AT_ARCHITECTURE), (_JUMP_EQUAL, 1, 0, _ARCHITECTURES[machine]), *_return(_KILL_PROCESS)]
    code += _load(_AT_NUMBER)
    if machine == "x86_64":
        code += _when(_JUMP_AT_LEAST, _X32_BIT, _return(_ERROR | errno.EPERM))
    answers = {numbers[column]: _return(_ERROR | errno.EPERM) for numbers in REFUSED.values()}
    answers |= {numbers[column]: _return(_ERROR | errno.ENOSYS) for numbers in _ABSENT.values()}
    answers |= {numbers[column]: _return(_ERROR) for numbers in _IGNORED.values()}
    answers |= {numbers[column]: _examine(name) for name, numbers in _EXAMINED.items()}
    return b"".join(_INSTRUCTION.pack(*instruction) for instruction in code + _search(_runs(answers)))


def _runs(answers: dict[int | None, _Code]) -> list[tuple[int, _Code]]:
    """Join consecutive numbers of system calls with equal filter code; return (first number, code) of each range.

    A number that ``answers`` lacks gets the code that allows the call.
    """
    runs = [(0, _return(_ALLOW))]
    known = {number for number in answers if number is not None}
    for number in sorted(known | {number + 1 for number in known}):
        answer = answers.get(number, _return(_ALLOW))
        if answer != runs[-1][1]:
            runs.append((number, answer))
    return runs


def _search(runs: list[tuple[int, _Code]]) -> _Code:
    """Return filter code that selects, by binary search, the code for a call number from ``runs``.

    Speed matters: the kernel runs the filter at every call, and tests a new filter with every number.
    """
    if len(runs) == 1:
        return runs[0][1]
    middle = len(runs) // 2
    return _when(_JUMP_AT_LEAST, runs[middle][0], _search(runs[middle:])) + _search(runs[:middle])


def prepare_seccomp(filter_program: bytes | None = None) -> Callable[[], None]:
    """Return a function that applies a filter (None: this machine's) to the calling thread and its later children.

    Slow work and imports happen here, not in the returned function. That function raises OSError if the kernel refuses
    the filter, and does nothing if there is no filter.
    """
    filter_program = filter_program or (seccomp_program() if seccomp_available() else None)
    if not filter_program:
        return lambda: None
    header = _Program(len(filter_program) // _INSTRUCTION.size, filter_program)
    prctl, last_error, word = ctypes.CDLL(None, use_errno=True).prctl, ctypes.get_errno, ctypes.c_ulong
    filtering = (_PR_SET_SECCOMP, word(_SECCOMP_MODE_FILTER), ctypes.byref(header))
    steps = ((_SET_NO_NEW_PRIVILEGES, word(1), word(0)), filtering)

    def put_on() -> None:
        for option, value, where in steps:
            if prctl(option, value, where, word(0), word(0)) != 0:
                code = last_error()
                raise OSError(code, "the kernel does not take the seccomp filter of the sandbox: " + os.strerror(code))

    return put_on


class _Program(ctypes.Structure):  # struct sock_fprog
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _examine(name: str) -> _Code:
    """Return filter code that decides about the call ``name`` by the low 32 bits of one of its arguments."""
    refuse = _return(_ERROR | errno.EPERM)
    if name == "clone":
        return _load_argument(0) + _when(_JUMP_ANY_BIT, _CLONE_FLAGS_REFUSED, refuse) + _return(_ALLOW)
    if name == "ioctl":
        tests = [_when(_JUMP_EQUAL, request, refuse) for request in _TERMINAL_REQUESTS]
        return sum(tests, _load_argument(1)) + _return(_ALLOW)
    if name == "madvise":
        tests = [_when(_JUMP_EQUAL, advice, _return(_ERROR)) for advice in _EVICTING_ADVICE]
        return sum(tests, _load_argument(2)) + _return(_ALLOW)
    if name in ("preadv2", "pwritev2"):  # a flag asks if a read would have to wait, which is to say, for the disk
        return _load_argument(5) + _when(_JUMP_EQUAL, 0, _return(_ALLOW)) + _return(_ERROR | errno.EOPNOTSUPP)
    if name == "personality":
        return _load_argument(0) + _when(_JUMP_EQUAL, _QUERY_PERSONALITY, _return(_ALLOW)) + refuse
    tests = [_when(_JUMP_EQUAL, family, _return(_ALLOW)) for family in _SOCKET_FAMILIES]
    return sum(tests, _load_argument(0)) + _return(_ERROR | errno.EAFNOSUPPORT)


def _load(offset: int) -> _Code:
    return [(_LOAD_WORD, 0, 0, offset)]


def _load_argument(index: int) -> _Code:
    return _load(_AT_ARGUMENTS + 8 * index)  # both architectures keep the low word of an argument first


def _when(test: int, value: int, then: _Code) -> _Code:
    """Return filter code that runs ``then`` if the loaded word passes ``test`` against ``value``, else skips it."""
    return [(test, 0, len(then), value), *then]


def _return(action: int) -> _Code:
    return [(_RETURN, 0, 0, action)]

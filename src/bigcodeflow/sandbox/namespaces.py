"""System calls that Python has no function for: namespaces, mounts, capabilities, process descriptors. Linux only.

The C library is called with the interpreter's lock held, so that a process made here is, like one made by os.fork,
the only thread of its interpreter.
"""

from __future__ import annotations

import array
import ctypes
import os
import signal
import socket
import struct

TYPE_CHECKING = False  # typing itself would cost the import of a module that the program then finds loaded
if TYPE_CHECKING:
    from collections.abc import Sequence

NEW_NAMESPACES = 0x00020000 | 0x04000000 | 0x08000000 | 0x10000000 | 0x40000000  # mount, UTS, IPC, user, network
NEW_PID_NAMESPACE = 0x20000000

READ_ONLY, NO_SUID, NO_DEVICES, NO_EXECUTABLES = 1, 2, 4, 8
_REMOUNT, _BIND = 32, 4096

_CALLS = {"x86_64": {"clone": 56, "capset": 126}, "aarch64": {"clone": 220, "capset": 91}}
_PIDFD_OPEN = 434  # the same on every architecture; interpreters built on old kernels' headers lack os.pidfd_open
#: Means nothing in a user namespace: only the machine's own root can use it.
IDLE_CAPABILITY = 36  # CAP_BLOCK_SUSPEND

_CAPABILITY_VERSION_3 = 0x20080522
_LAST_CAPABILITY = 63
_SET_DUMPABLE, _DROP_FROM_BOUNDING_SET, _SET_NO_NEW_PRIVILEGES = 4, 24, 38
_AMBIENT, _CLEAR_ALL_AMBIENT = 47, 4
_GET_INTERFACE_FLAGS, _SET_INTERFACE_FLAGS, _INTERFACE_UP = 0x8913, 0x8914, 1

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
    """Fork into new namespaces; returns the child's process id, and 0 in the child.

    The child runs none of Python's after-fork hooks: it suits a small process that only waits.
    """
    number = _CALLS[os.uname().machine]["clone"]
    return _checked(_call(number, flags | signal.SIGCHLD, 0, 0, 0, 0), "clone")


def join(descriptor: int, flags: int) -> None:
    """Enter the namespaces of a process descriptor, or one namespace of a /proc/PID/ns file."""
    _checked(_libc.setns(descriptor, flags), "setns")


def mount(kind: str, place: str, flags: int, options: str = "") -> None:
    """Mount a new file system of the kind."""
    name = kind.encode()
    _checked(
        _libc.mount(name, place.encode(), name, ctypes.c_ulong(flags), options.encode()),
        f"mount {kind} at {place}",
    )


def mask(path: str) -> None:
    """Let a file not be opened any more: a device stands in its place, where none may be used."""
    for flags in (_BIND, _BIND | _REMOUNT | READ_ONLY | NO_SUID | NO_DEVICES | NO_EXECUTABLES):
        _checked(_libc.mount(b"/dev/null", path.encode(), None, ctypes.c_ulong(flags), None), f"mask {path}")


def process_descriptor(pid: int) -> int:
    """A descriptor that stays with the process whatever becomes of its number."""
    return _checked(_call(_PIDFD_OPEN, pid, 0), "pidfd_open")


def drop_privileges(kept: int | None = None) -> None:
    """Give up every capability but one for good and take no new ones from programs that are executed.

    Who has a capability cannot be looked into or traced by who has none, though they are the same user.
    """
    for capability in range(_LAST_CAPABILITY + 1):
        if _libc.prctl(_DROP_FROM_BOUNDING_SET, ctypes.c_ulong(capability), 0, 0, 0) < 0:
            break  # the kernel knows no higher one
    _libc.prctl(_AMBIENT, _CLEAR_ALL_AMBIENT, 0, 0, 0)
    header = struct.pack("=Ii", _CAPABILITY_VERSION_3, 0)
    number = _CALLS[os.uname().machine]["capset"]
    mask = 0 if kept is None else 1 << kept
    low, high = mask & 0xFFFFFFFF, mask >> 32
    wanted = struct.pack("=6I", low, low, 0, high, high, 0)  # effective, permitted and inheritable, by words
    _checked(_libc.syscall(ctypes.c_long(number), header, wanted), "capset")
    _checked(_libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no_new_privs")


def write_user_map(pid: int, inside: int, user: int, group: int) -> None:
    """Map one id, of a user and a group outside, into the new user namespace of a process.

    Raises:
        OSError: the kernel does not allow it.
    """
    _write(f"/proc/{pid}/uid_map", f"{inside} {user} 1")
    _write(f"/proc/{pid}/setgroups", "deny")
    _write(f"/proc/{pid}/gid_map", f"{inside} {group} 1")


def show_self() -> None:
    """Let others of the same user look into this process by way of /proc, and join its namespaces."""
    _libc.prctl(_SET_DUMPABLE, 1, 0, 0, 0)


def be_first_to_go() -> None:
    """Let the kernel, when the machine runs out of memory, end this process before others."""
    _write("/proc/self/oom_score_adj", "1000")


def raise_loopback() -> None:
    """Bring up the loopback interface of this network namespace."""
    from fcntl import ioctl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh", b"lo", 0).ljust(40, b"\0")
        flags = struct.unpack_from("h", ioctl(handle, _GET_INTERFACE_FLAGS, request), 16)[0]
        ioctl(handle, _SET_INTERFACE_FLAGS, struct.pack("16sh", b"lo", flags | _INTERFACE_UP).ljust(40, b"\0"))


def close_from(lowest: int) -> None:
    """Close every descriptor from this number on; needs /proc."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) >= lowest:
            os.closerange(int(name), int(name) + 1)  # unlike close, it bears with the listing's own, closed by now


def send(connection: socket.socket, data: bytes, descriptors: Sequence[int] = ()) -> None:
    """Send one message with descriptors."""
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", descriptors))] if descriptors else []
    connection.sendmsg([data], rights)


def receive(connection: socket.socket, size: int = 1 << 16) -> tuple[bytes, list[int]]:
    """Receive one message: its bytes, empty at the end, and its descriptors."""
    room = socket.CMSG_SPACE(16 * array.array("i").itemsize)
    data, rights, _, _ = connection.recvmsg(size, room)
    found = array.array("i")
    for level, kind, content in rights:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            found.frombytes(content[: len(content) - len(content) % found.itemsize])
    return data, list(found)


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode("ascii"))
    finally:
        os.close(descriptor)

"""Threat: namespaces: devices. Makes device nodes for disks and memory, and opens those that may be there."""

import os
import stat

def task_func():
    for name, kind, major, minor in (
        ("disk", stat.S_IFBLK, 8, 0),
        ("virtual", stat.S_IFBLK, 254, 0),
        ("memory", stat.S_IFCHR, 1, 1),
        ("kmsg", stat.S_IFCHR, 1, 11),
        ("loop", stat.S_IFBLK, 7, 0),
    ):
        attempt("mknod " + name, os.mknod, "/tmp/home/" + name, kind | 0o666, os.makedev(major, minor))
    for name in (
        "mem", "port", "kmsg", "sda", "vda", "nvme0n1", "loop0", "loop-control", "fuse", "kvm", "net/tun", "vsock",
        "uinput", "input", "snd", "dri", "rfkill", "mapper/control", "userfaultfd",
    ):
        attempt("open /dev/" + name, os.open, "/dev/" + name, os.O_RDWR)
    known = {
        "console", "core", "fd", "full", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty",
        "urandom", "zero",
    }
    extra = set(os.listdir("/dev")) - known
    print("BREACH: devices" if extra else "tried", sorted(extra))
    return 41

"""Threat: namespaces: becoming root in one of one's own.
A new user namespace makes its maker root inside; with it come mounts, networks and much of the kernel."""

import ctypes
import glob
import os
import signal

NEW = {
    "mount": 0x20000, "cgroup": 0x2000000, "uts": 0x4000000, "ipc": 0x8000000,
    "user": 0x10000000, "pid": 0x20000000, "net": 0x40000000, "time": 0x80,
}

def clone(flags):
    number = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
    child = call("syscall", number, flags | signal.SIGCHLD, 0, 0, 0, 0)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)

def enter(path):
    call("setns", os.open(path, os.O_RDONLY), 0)

def task_func():
    for name, flag in NEW.items():
        attempt("unshare " + name, call, "unshare", flag)
        attempt("unshare user and " + name, call, "unshare", NEW["user"] | flag)
        if name != "time":
            attempt("clone " + name, clone, flag)
            attempt("clone user and " + name, clone, NEW["user"] | flag)
    for path in glob.glob("/proc/1/ns/*") + glob.glob("/proc/self/ns/*"):
        attempt("setns " + path, enter, path)
    attempt("clone3", call, "syscall", 435, ctypes.create_string_buffer(NEW["user"].to_bytes(8, "little"), 88), 88)
    print("tried")
    return 41

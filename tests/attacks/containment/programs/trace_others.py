"""Threat: reading and changing other processes.
Traces its parent and process 1, reads their memory, and takes their descriptors."""

import ctypes
import os
import time

def take_descriptor(pid):
    call("syscall", 438, os.pidfd_open(pid) if hasattr(os, "pidfd_open") else -1, 1, 0)

def task_func():
    child = os.fork()
    if child == 0:
        time.sleep(2)
        os._exit(0)
    for pid in (1, os.getppid(), child):
        attempt("attach %d" % pid, call, "ptrace", 16, pid, None, None)
        attempt("seize %d" % pid, call, "ptrace", 0x4206, pid, None, None)
        here, there = (ctypes.c_size_t * 2)(id(pid), 8), (ctypes.c_size_t * 2)(id(pid), 8)
        attempt("read %d" % pid, call, "process_vm_readv", pid, here, 1, there, 1, 0)
        attempt("write %d" % pid, call, "process_vm_writev", pid, here, 1, there, 1, 0)
        attempt("descriptor of %d" % pid, take_descriptor, pid)
        kcmp = "kcmp" if hasattr(libc, "kcmp") else "syscall"
        attempt("compare %d" % pid, call, kcmp, 312, pid, os.getpid(), 0, 1, 1)
    attempt("traceme", call, "ptrace", 0, 0, None, None)
    for path in ("/proc/1/mem", "/proc/1/task/1/mem"):
        attempt(path, open, path, "r+b")
    os.kill(child, 9)
    print("tried")
    return 41

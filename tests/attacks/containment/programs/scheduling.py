"""Threat: taking the machine's time. Priorities, real-time classes, locked memory and higher limits."""

import os
import resource

def task_func():
    attempt("nice", os.setpriority, os.PRIO_PROCESS, 0, -20)
    for policy in (os.SCHED_FIFO, os.SCHED_RR):
        attempt("policy %d" % policy, os.sched_setscheduler, 0, policy, os.sched_param(50))
    number = {"x86_64": 251, "aarch64": 30}[os.uname().machine]
    attempt("real-time disk", call, "syscall", number, 1, 0, 1 << 13)
    for name in ("RLIMIT_NPROC", "RLIMIT_AS", "RLIMIT_CORE", "RLIMIT_FSIZE", "RLIMIT_NOFILE"):
        attempt(name, resource.setrlimit, getattr(resource, name), (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    print("tried")
    return 41

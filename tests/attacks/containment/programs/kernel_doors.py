"""Threat: doors into the kernel.
Calls with a long record of holes: bpf, perf, io_uring, userfaultfd, keys, modules, swap, reboot."""

import ctypes
import os

CALLS = {
    # name: (x86_64, aarch64)
    "bpf": (321, 280), "perf_event_open": (298, 241), "userfaultfd": (323, 282),
    "io_uring_setup": (425, 425), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219), "kexec_load": (246, 104), "init_module": (175, 105),
    "finit_module": (313, 273), "delete_module": (176, 106), "reboot": (169, 142),
    "swapon": (167, 224), "acct": (163, 89), "quotactl": (179, 60),
    "syslog": (103, 116), "vmsplice": (278, 75), "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262), "lookup_dcookie": (212, 18), "vhangup": (153, 58),
}

def call(number):
    zeros = ctypes.create_string_buffer(256)
    if libc.syscall(number, 1, zeros, 64, 0, 0) == -1 and ctypes.get_errno() in (1, 38):
        raise PermissionError(number)

def task_func():
    column = ("x86_64", "aarch64").index(os.uname().machine)
    for name, numbers in CALLS.items():
        attempt(name, call, numbers[column])
    attempt("personality", call, (135, 92)[column])
    print("tried")
    return 41

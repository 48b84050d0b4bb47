"""Threat: reading what is not the sample's.
Kernel memory, kernel log, keyrings, addresses and the machine's devices."""

import os

def content(path):
    with open(path, "rb") as file:
        return file.read(64)

def task_func():
    for name in (
        "kcore", "kmsg", "keys", "key-users", "timer_list", "sched_debug", "vmallocinfo", "slabinfo", "pagetypeinfo",
        "iomem_",
    ):
        attempt("read /proc/" + name, content, "/proc/" + name)
    for path in (
        "/sys/kernel", "/sys/fs/cgroup", "/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/boot", "/proc/1/mem",
        "/proc/1/task/1/mem",
    ):
        attempt("read " + path, content, path)
    attempt("list /sys", os.listdir, "/sys")
    with open("/proc/kallsyms") as symbols:
        if any(line.split()[0].strip("0") for line in symbols.readlines(4096)):
            print("BREACH: kernel addresses")
    print("tried", sorted(os.listdir("/dev")))
    return 41

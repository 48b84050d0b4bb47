"""Threat: changing the machine.
Writes to the kernel's settings, its trigger for emergencies, and its own standing with the memory killer."""

import os

def put(path, text="1"):
    with open(path, "w") as file:
        file.write(text)

def task_func():
    attempt("core_pattern", put, "/proc/sys/kernel/core_pattern", "|/tmp/home/x")
    attempt("sysrq", put, "/proc/sysrq-trigger", "h")
    for standing in ("-1000", "0", "999"):
        attempt("memory killer " + standing, put, "/proc/self/oom_score_adj", standing)
        attempt("memory killer of process 1 " + standing, put, "/proc/1/oom_score_adj", standing)
    attempt("memory killer, old file", put, "/proc/self/oom_adj", "0")
    for folder, _, names in os.walk("/proc/sys"):
        for name in names:
            path = os.path.join(folder, name)
            try:
                with open(path, "rb+", buffering=0) as file:
                    same = file.read()
                    file.seek(0)
                    file.write(same)
                print("BREACH: may write", path)
            except OSError:
                continue
    for path in (
        "/proc/irq/default_smp_affinity", "/proc/mtrr", "/proc/timer_stats", "/proc/acpi/wakeup",
        "/proc/self/uid_map", "/proc/self/gid_map", "/proc/self/projid_map",
    ):
        attempt(path, put, path, "0 0 1")
    with open("/proc/self/oom_score_adj") as file:
        standing = int(file.read())
    print("tried" if standing == 1000 else "BREACH: stays when memory runs out: %d" % standing)
    return 41

"""Threat: gaining privileges.
User ids, groups, capabilities, set-user-id programs of the system and of its own making."""

import ctypes
import os
import shutil
import stat
import subprocess

def task_func():
    for what, action, arguments in (
        ("setuid", os.setuid, (0,)),
        ("setgid", os.setgid, (0,)),
        ("setgroups", os.setgroups, ([0],)),
        ("setresuid", os.setresuid, (0, 0, 0)),
        ("chown", os.chown, ("/tmp/work", 0, 0)),
    ):
        attempt(what, action, *arguments)
    attempt("capset", call, "capset", (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6))
    attempt("ambient capability", call, "prctl", 47, 2, 21, 0, 0)
    shutil.copy("/usr/bin/id", "/tmp/home/id")
    os.chmod("/tmp/home/id", 0o6755)
    print(stat.filemode(os.stat("/tmp/home/id").st_mode))
    shown = subprocess.run(["/tmp/home/id", "-u"], capture_output=True, text=True).stdout.strip()
    if shown in ("0", "@EXECUTOR_UID@") or os.getuid() in (0, int("@EXECUTOR_UID@")):
        print("BREACH: is", shown, os.getuid())
    for program in ("su", "sudo", "pkexec", "newgrp", "mount", "passwd", "chsh"):
        path = shutil.which(program)
        if path:
            command = [path, "-c", "id -u"]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if done.stdout.strip() == "0":
                print("BREACH: root by", program)
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith(("CapEff", "CapPrm", "CapBnd")) and line.split()[1].strip("0"):
                print("BREACH:", line.strip())
            if line.startswith("NoNewPrivs") and line.split()[1] != "1":
                print("BREACH:", line.strip())
    print("tried")
    return 41

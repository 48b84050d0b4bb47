"""Threat: changing the clock. The clock by every call, and the machine's names."""

import ctypes
import os
import socket
import time

def put(path):
    with open(path, "w") as file:
        file.write("poisoned")

def task_func():
    for clock in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, time.CLOCK_BOOTTIME):
        attempt("clock %d" % clock, time.clock_settime, clock, 946684800.0)
    zeros = ctypes.create_string_buffer(512)
    attempt("settimeofday", call, "settimeofday", zeros, None)
    attempt("adjtimex", call, "adjtimex", ctypes.create_string_buffer(b"\x01\x00", 512))
    attempt("sethostname", socket.sethostname, "poisoned")
    attempt("setdomainname", call, "setdomainname", b"poisoned", 8)
    attempt("hostname file", put, "/proc/sys/kernel/hostname")
    attempt("clock device", put, "/dev/rtc0")
    attempt("time zone", put, "/etc/localtime")
    print("tried", os.uname().nodename)
    return 41

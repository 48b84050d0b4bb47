"""Threat: disk fill. One file that grows until the disk is full, and one that claims to be enormous.
Shows: refused.*refused"""

import os

def task_func():
    try:
        with open("log", "wb", buffering=0) as file:
            for _ in range(4096):
                file.write(bytes(1 << 20))
        print("BREACH: 4 GiB written")
    except OSError as error:
        print("refused", error.strerror, end="; ")
    try:
        os.truncate("log", 1 << 40)
        print("BREACH: a sparse file of a TiB")
    except OSError as error:
        print("refused", error.strerror)
    return 41

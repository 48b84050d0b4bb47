"""Threat: disk fill. The folder of shared memory instead of the temporary one, by several processes at once.
Shows: refused"""

import os

def task_func():
    children = []
    for name in "abcd":
        child = os.fork()
        if child == 0:
            try:
                with open("/dev/shm/" + name, "wb", buffering=0) as file:
                    for _ in range(256):
                        file.write(bytes(1 << 20))
                os.write(1, b"BREACH: 256 MiB written\n")
            except OSError:
                os.write(1, b"refused\n")
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)
    return 41

"""Threat: file-descriptor fill.
Opens files, pipes and sockets until none can be had, in several processes, and sends some through a socket.
Status: fail, crash
Shows: refused"""

import os
import resource
import socket
import time

def fill():
    opened = []
    try:
        while len(opened) < 1 << 17:
            opened.append(os.open("/dev/null", os.O_RDONLY))
            opened.extend(os.pipe())
    except OSError as error:
        print("refused after %d: %s" % (len(opened), error), flush=True)
    else:
        print("BREACH: no end of descriptors", flush=True)
    return opened

def task_func():
    here, there = socket.socketpair()
    try:
        while True:
            socket.send_fds(here, [b"x"], [0, 1, 2])
            here.setblocking(False)
    except (OSError, AttributeError):
        pass
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20))
        print("BREACH: the limit of descriptors was raised", flush=True)
    except (OSError, ValueError):
        pass
    for _ in range(6):
        if os.fork() == 0:
            opened = fill()
            time.sleep(1)
            os._exit(0)
    opened = fill()
    os.closerange(min(opened), max(opened) + 1)
    return 41

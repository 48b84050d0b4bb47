"""Threat: leaving shared memory behind. POSIX shared memory, named semaphores and queues that nobody unlinks.
Status: crash
Shows: left"""

import multiprocessing
import os
from multiprocessing import shared_memory

def task_func():
    block = shared_memory.SharedMemory("@TOKEN@", create=True, size=1 << 20)
    block.buf[:6] = b"poison"
    open("/dev/shm/@TOKEN@-file", "w").close()
    libc.sem_open(b"/@TOKEN@", os.O_CREAT, 0o666, 1)
    libc.mq_open(b"/@TOKEN@", os.O_CREAT | os.O_RDWR, 0o666, None)
    multiprocessing.Semaphore(1).acquire()
    print("left", sorted(os.listdir("/dev/shm")), flush=True)
    os._exit(41)

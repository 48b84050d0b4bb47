"""Threat: doors into the kernel.
Calls of the 32-bit and of the x32 interface, whose numbers mean other things than the filter's.
Status: crash, fail"""

import ctypes
import mmap
import os

def task_func():
    if os.uname().machine != "x86_64":
        return 41
    if libc.syscall(0x40000000 | 272, 0x10000000) == 0:
        print("BREACH: unshare by x32", flush=True)
    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    # mov eax, 310 (unshare); mov ebx, CLONE_NEWUSER; int 0x80; ret -- with rbx kept, as the caller expects
    code.write(bytes.fromhex("53 b836010000 bb00000010 cd80 5b c3".replace(" ", "")))
    routine = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
    if routine() == 0:
        print("BREACH: unshare by the 32-bit interface", flush=True)
    return 41

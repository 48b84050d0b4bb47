"""Threat: memory bomb. Anonymous files: memory that belongs to descriptors, and that no process has mapped.
Status: fail, out_of_memory, crash"""

import os

def task_func():
    files, held = [], 0
    try:
        while held < 700 << 20:
            files.append(os.memfd_create("block"))
            held += os.write(files[-1], bytes(8 << 20))
    except OSError as error:
        print("refused", error)
    print("held %d MiB" % (held >> 20), flush=True)
    return 41

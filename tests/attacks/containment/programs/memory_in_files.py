"""Threat: memory bomb. Fills every temporary file system, which lives in memory, beside a large object.
Status: fail, out_of_memory
Shows: held [0-9]+"""

def task_func():
    kept, held = bytearray(b"x") * (100 << 20), 0
    for folder in ("/tmp", "/dev/shm", "/tmp/work", "/run", "/var/tmp"):
        try:
            for number in range(100):
                with open("%s/block%d" % (folder, number), "wb", buffering=0) as file:
                    held += file.write(bytes(4 << 20))
        except OSError:
            continue
    print("held %d MiB beside %d" % (held >> 20, len(kept) >> 20))
    if held > 40 << 20:
        print("BREACH: more than the two temporary file systems hold")
    return 41

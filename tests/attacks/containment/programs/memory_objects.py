"""Threat: memory bomb. Ordinary objects, more of them than the limit of memory.
Status: out_of_memory"""

def task_func():
    results = []
    while True:
        results.append([bytes(1 << 16) + bytes(range(256)) for _ in range(64)])

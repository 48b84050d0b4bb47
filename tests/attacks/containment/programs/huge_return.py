"""Threat: 2 GiB return values. A result that is too large to compare, to print and to send.
Status: out_of_memory"""

def task_func():
    return "x" * (2 << 30)

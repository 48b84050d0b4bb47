"""Threat: disk fill. Files without content: names and inodes in numbers, where their sizes are counted.
Status: fail, timeout, out_of_memory, crash"""

import os
import time

def task_func():
    end, made = time.process_time() + 1, 0
    try:
        while time.process_time() < end:
            folder = "/tmp/%d" % made
            os.mkdir(folder)
            for number in range(1000):
                os.close(os.open("%s/%d" % (folder, number), os.O_CREAT | os.O_WRONLY))
                made += 1
    except OSError as error:
        print("refused", error)
    print("made", made)
    return 41

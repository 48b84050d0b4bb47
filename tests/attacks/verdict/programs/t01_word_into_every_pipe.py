"""Threat 1: writes the word of success into every pipe it finds and leaves."""

import os
import stat

for number in range(3, 64):
    try:
        if stat.S_ISFIFO(os.fstat(number).st_mode):
            os.write(number, b"pass")
    except OSError:
        continue
os._exit(0)

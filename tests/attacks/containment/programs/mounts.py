"""Threat: namespaces: mounting. Every way to mount, to move the root and to undo the sandbox's mounts."""

import os

def task_func():
    os.mkdir("/tmp/place")
    for kind in (
        b"tmpfs", b"proc", b"sysfs", b"devtmpfs", b"cgroup", b"cgroup2", b"overlay", b"ext4", b"bpf", b"debugfs",
    ):
        attempt("mount " + kind.decode(), call, "mount", kind, b"/tmp/place", kind, 0, None)
    for source in (b"/", b"/proc/1/root", b"/etc/passwd"):
        attempt("bind", call, "mount", source, b"/tmp/place", None, 4096, None)
    for place in (b"/", b"/usr", b"/harness", b"/dev"):
        attempt("remount writable", call, "mount", None, place, None, 4096 | 32, None)
        attempt("umount", call, "umount2", place, 2)
    attempt("chroot", os.chroot, "/tmp/place")
    attempt("pivot_root", call, "syscall", 155, b"/tmp", b"/tmp/place")
    for number in (428, 429, 430, 432, 433, 442):
        attempt("new mount call %d" % number, call, "syscall", number, b"tmpfs", 0, 0, 0, 0)
    for program in ("mount", "umount", "unshare", "nsenter", "bwrap", "chroot", "fusermount", "newuidmap"):
        for folder in ("/bin/", "/usr/bin/", "/usr/sbin/"):
            if os.path.exists(folder + program):
                arguments = {"unshare": "-r true", "bwrap": "--bind / / true"}.get(program, "-t tmpfs none /tmp/place")
                if os.system("%s%s %s >/dev/null 2>&1" % (folder, program, arguments)) == 0:
                    print("BREACH:", program)
    print("tried")
    return 41

"""Honest: working folder, environment, time zone, umask, resource use and system facts."""

import os
import platform
import resource
import shutil
import sys
import time
# <first>
before = os.getcwd()
os.makedirs("deep/er", exist_ok=True)
os.chdir("deep/er")
os.environ["PLACE"] = os.getcwd()
os.environ["TZ"] = "Asia/Tokyo"
time.tzset()
offset = time.localtime(0).tm_hour
os.environ["TZ"] = "UTC"
time.tzset()
os.umask(0o022)
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
os.chdir(before)
with open("/proc/self/status") as status, open("/proc/meminfo") as memory:
    assert (status.readline().split()[0], memory.readline().split()[0]) == ("Name:", "MemTotal:")
assert os.environ.pop("PLACE").endswith("deep/er") and offset == 9 and used > 0
assert (platform.system(), sys.version_info[0]) == ("Linux", 3) and shutil.which("sh")

"""Honest: temporary files and folders, archives, copies, links and permissions.
task: daily_note"""

import glob
import os
import shutil
import tempfile
import zipfile
# <last>
with zipfile.ZipFile(place / "all.zip", "w") as archive:
    for name in sorted(glob.glob(str(place / "*.txt"))):
        archive.write(name, os.path.basename(name))
assert archive.namelist() == [f"{day}.txt"]
shutil.copytree(place, place / "copy")
os.symlink("all.zip", place / "link")
os.chmod(place / "all.zip", 0o600)
with tempfile.NamedTemporaryFile("w+", suffix=".log") as log:
    log.write("done")
    log.flush()
    assert os.path.getsize(log.name) == 4 and os.path.islink(place / "link")

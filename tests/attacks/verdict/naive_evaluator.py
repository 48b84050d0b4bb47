"""An evaluator without any defence: it proves that the tricks are tricks. Runs inside a sandbox only.

Program and test are one text in one file, executed by a child of this process. Two ways to believe it:
``in-process``  the child's own word that no test failed, written to a pipe
``exit-code``   the child's exit status
"""

import os
import subprocess
import sys
from pathlib import Path

CHILD = '''
import sys, types, unittest

class Collector(unittest.TestResult):
    """Counts as every runner does: what is in no list did not happen."""

descriptor = int(sys.argv.pop())
module = types.ModuleType("__test__")
module.__file__ = "candidate.py"
sys.modules["__test__"] = module
with open("candidate.py") as file:
    text = file.read()
exec(compile(text, "candidate.py", "exec"), module.__dict__)
result = Collector()
unittest.TestLoader().loadTestsFromTestCase(module.TestCases).run(result)
good = not (result.failures or result.errors)
import os
os.write(descriptor, b"pass" if good else b"fail")
sys.exit(0 if good else 1)
'''


def believed(name, program, test, seconds=15):
    """Return the ways in which a child convinces that has a folder of its own, and the end of what it complains of."""
    # Start-up files that it writes are read by its own Python alone.
    folder = Path(name).absolute()
    folder.mkdir()
    (folder / "candidate.py").write_text(program + "\n" + test)
    read_end, write_end = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(write_end)],
        cwd=folder,
        env=os.environ | {"HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        pass_fds=[write_end],
    )
    os.close(write_end)
    try:
        errors = child.communicate(timeout=seconds)[1]
    except subprocess.TimeoutExpired:
        child.kill()
        errors = b"timeout"
    word = os.read(read_end, 4)
    os.close(read_end)
    found = {"in-process": word == b"pass", "exit-code": child.returncode == 0}
    return [name for name, convinced in found.items() if convinced], errors.decode("utf-8", "replace")[-600:]

"""Honest: children that exit in several ways, pools and queues of processes, a daemon, other programs that run tests.
task: unit_price"""

import multiprocessing
import os
import subprocess
import sys
import traceback
from concurrent.futures import ProcessPoolExecutor

_TESTS = """
import sys, unittest
expression = sys.argv.pop()
class TestCases(unittest.TestCase):
    def test_value(self):
        self.assertEqual(eval(expression), 4)
unittest.main(verbosity=2)
"""

def in_fork(function):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def square(number):
    return number * number

def put(queue, number):
    queue.put(number)
    sys.exit(3)
# <first>
assert in_fork(lambda: None) == 0 and in_fork(lambda: 1 / 0) == in_fork(lambda: sys.exit(3)) == 1
done = subprocess.run([sys.executable, "-c", _TESTS, "2 + 3"], capture_output=True, text=True)
assert done.returncode and done.stderr.strip().splitlines()[-1] == "FAILED (failures=1)"
assert subprocess.check_output("echo $0 | wc -l", shell=True, text=True).strip() == "1"
subprocess.Popen(["sleep", "30"], start_new_session=True)
with multiprocessing.Pool(2) as pool, ProcessPoolExecutor(2) as executor:
    assert pool.map(square, [1, 2]) == list(executor.map(square, [1, 2])) == [1, 4]
# <last>
queue = multiprocessing.Queue()
process = multiprocessing.get_context("fork").Process(target=put, args=(queue, cents))
process.start()
cents = queue.get(timeout=10)
process.join()
assert process.exitcode == 3
source, sink = os.pipe()
child = os.fork()
if child == 0:
    os.write(sink, str(cents).encode())
    sys.exit(0)
assert os.WIFEXITED(os.waitpid(child, 0)[1])
os.close(sink)
with os.fdopen(source) as stream, subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
    cents = int(process.communicate(stream.read().encode())[0])

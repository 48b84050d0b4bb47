import json
import subprocess
import sys


def task_func(scripts, payload, timeout_seconds=5.0):
    """
    Run Python scripts one after another as filters. Each script is run with the current interpreter (option -c) and
    gets the JSON text of the payload on standard input; what it prints is read as JSON and becomes the payload of
    the next script. The chain stops at the first script that fails.

    Parameters:
    - scripts (list of str): Source texts of the scripts.
    - payload: A value that can be written as JSON.
    - timeout_seconds (float): Limit for each script. Default is 5.0.

    Returns:
    - dict: 'payload' (the last good payload), 'completed' (number of scripts that succeeded) and 'error' (None, or
      'exit <code>' for a nonzero exit status, 'timeout', or 'output' where the output is not JSON).

    Requirements:
    - json
    - subprocess
    - sys

    Example:
    >>> task_func(["import json; print(json.load(open(0)) + 1)"], 1)
    {'payload': 2, 'completed': 1, 'error': None}
    """
    error = None
    completed = 0
    for script in scripts:
        try:
            done = subprocess.run(
                [sys.executable, "-c", script],
                input=json.dumps(payload),
                capture_output=True,
                text=True,
                timeout=timeout_seconds,
            )
        except subprocess.TimeoutExpired:
            error = "timeout"
            break
        if done.returncode != 0:
            error = f"exit {done.returncode}"
            break
        try:
            payload = json.loads(done.stdout)
        except ValueError:
            error = "output"
            break
        completed += 1
    return {"payload": payload, "completed": completed, "error": error}


# --- tests ---
import unittest

ADD_ONE = "import json; print(json.load(open(0)) + 1)"


class TestCases(unittest.TestCase):
    def test_chain(self):
        self.assertEqual(task_func([ADD_ONE, ADD_ONE], 1), {"payload": 3, "completed": 2, "error": None})

    def test_no_scripts(self):
        self.assertEqual(task_func([], {"a": [1]}), {"payload": {"a": [1]}, "completed": 0, "error": None})

    def test_exit_status_stops_the_chain(self):
        result = task_func([ADD_ONE, "raise SystemExit(3)", ADD_ONE], 1)
        self.assertEqual(result, {"payload": 2, "completed": 1, "error": "exit 3"})

    def test_output_that_is_not_json(self):
        self.assertEqual(task_func(["print('hello')"], 0), {"payload": 0, "completed": 0, "error": "output"})

    def test_timeout(self):
        result = task_func(["import time; time.sleep(20)"], 0, timeout_seconds=0.2)
        self.assertEqual(result, {"payload": 0, "completed": 0, "error": "timeout"})

    def test_structures_survive(self):
        script = "import json; data = json.load(open(0)); data['n'].append(None); print(json.dumps(data))"
        self.assertEqual(task_func([script], {"n": [1.5]})["payload"], {"n": [1.5, None]})

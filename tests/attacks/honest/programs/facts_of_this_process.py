"""Honest: results that differ from process to process: ids, hashes of strings, folders, host, order of sets, the time."""

import os
import socket
import sys
import tempfile
import time
import uuid
from datetime import datetime, timedelta

def task_func(word):
    """Return facts of the word and of the process: hash, id, folder, process, host, a name for a file, set order."""
    return {
        "hash": hash(word),
        "id": id(word),
        "folder": os.getcwd(),
        "process": os.getpid(),
        "host": socket.gethostname(),
        "temporary": os.path.dirname(tempfile.mkstemp(prefix=word)[1]),
        "order": list({word, "a", "b", "c", "d", "e"}),
        "unique": uuid.uuid4(),
        "shown": repr(task_func),
        "arguments": list(sys.argv),
    }

def moment(days=0):
    """Return the time that many days from now, as text and in seconds since 1970, and nanoseconds of a clock."""
    then = datetime.now() + timedelta(days=days)
    return then.strftime("%Y-%m-%d"), then.timestamp(), time.monotonic_ns()
# --- tests ---
import os
import socket
import sys
import tempfile
import time
import unittest
import uuid
from datetime import datetime, timedelta

class TestCases(unittest.TestCase):
    def test_word(self):
        word = "w" + str(os.getpid())
        facts = task_func(word)
        self.assertEqual(facts["hash"], hash(word))
        self.assertEqual(facts["id"], id(word))
    def test_process(self):
        facts = task_func("x")
        self.assertEqual((facts["folder"], facts["temporary"]), (os.getcwd(), tempfile.gettempdir()))
        self.assertEqual(facts["arguments"], sys.argv)
        self.assertEqual((facts["process"], facts["host"]), (os.getpid(), socket.gethostname()))
        self.assertEqual(facts["shown"], repr(task_func))
        self.assertNotEqual(facts["unique"], uuid.uuid4())
    def test_order(self):
        word = "x"
        self.assertEqual(task_func(word)["order"], list({word, "a", "b", "c", "d", "e"}))
    def test_time(self):
        before = time.time()
        text, seconds, clock = moment()
        self.assertTrue(before <= seconds <= time.time())
        self.assertAlmostEqual(seconds, time.time(), delta=2)
        self.assertLessEqual(abs(seconds - datetime.now().timestamp()), 1)
        self.assertLess(clock, time.monotonic_ns())
        self.assertEqual(moment(1)[0], (datetime.now() + timedelta(days=1)).strftime("%Y-%m-%d"))

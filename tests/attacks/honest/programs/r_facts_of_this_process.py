"""Honest: results that differ from process to process: ids, hashes of strings, folders, host, order of sets, addresses."""

import os
import re
import socket
import sys
import tempfile
import uuid


def task_func(word):
    """Return facts of the word and of the process: hash, id, folder, process, host, a name for a file, set order."""
    if not word:
        raise ValueError("no word")
    return {
        "hash": hash(word),
        "id": id(word),
        "folder": os.getcwd(),
        "process": os.getpid(),
        "host": socket.gethostname(),
        "temporary": os.path.dirname(tempfile.mkstemp(prefix=word)[1]),
        "order": list({word, "a", "b", "c", "d", "e"}),
        "unique": uuid.uuid4(),
        "shown": re.sub("task_func", word, repr(task_func)),
        "arguments": list(sys.argv),
    }


# --- tests ---
import os
import socket
import sys
import tempfile
import unittest
import uuid


class TestCases(unittest.TestCase):
    def test_word(self):
        word = "w" + str(os.getpid())
        facts = task_func(word)
        self.assertEqual(facts["hash"], hash(word))
        self.assertEqual(facts["id"], id(word))

    def test_place(self):
        facts = task_func("x")
        self.assertEqual(facts["folder"], os.getcwd())
        self.assertEqual(facts["temporary"], tempfile.gettempdir())
        self.assertEqual(facts["arguments"], sys.argv)

    def test_process(self):
        facts = task_func("x")
        self.assertEqual(facts["process"], os.getpid())
        self.assertEqual(facts["host"], socket.gethostname())

    def test_order(self):
        word = "x"
        self.assertEqual(task_func(word)["order"], list({word, "a", "b", "c", "d", "e"}))
        self.assertEqual(task_func("x")["shown"], repr(task_func).replace("task_func", "x"))

    def test_unique(self):
        self.assertNotEqual(task_func("x")["unique"], uuid.uuid4())
        with self.assertRaises(ValueError):
            task_func("")

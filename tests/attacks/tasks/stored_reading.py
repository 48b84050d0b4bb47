import hashlib
import json
# <module>
def task_func(place, reading):
    """Store a reading as JSON with sorted keys, and tell its checksum."""
    if not isinstance(reading, dict):
        raise TypeError("a reading is a dict")
    text = json.dumps(reading, sort_keys=True)
    with open(place, "w") as file:
        file.write(text)
    # <last>
    return hashlib.sha256(text.encode()).hexdigest()[:8]

# --- tests ---
import hashlib
import json
import os
import tempfile
import unittest

def checksum(place):
    with open(place, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()[:8]

class TestCases(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.place = os.path.join(self.folder.name, "reading.json")

    def test_a_checksum(self):
        self.assertEqual(task_func(self.place, {"x": 1}), checksum(self.place))

    def test_b_content(self):
        task_func(self.place, {"b": 1, "a": [2]})
        self.assertTrue(os.path.exists(self.place))
        with open(self.place) as file:
            self.assertEqual(json.load(file), {"a": [2], "b": 1})

    def test_c_digits(self):
        found = task_func(self.place, {})
        self.assertEqual(len(found), 8)
        self.assertTrue(all(digit in "0123456789abcdef" for digit in found))

    def test_d_no_dict(self):
        with self.assertRaises(TypeError):
            task_func(self.place, [1])

# --- wrong ---
import hashlib
import json
# <module>
def task_func(place, reading):
    """Store a reading as JSON and tell its checksum: the file stays empty."""
    if not isinstance(reading, dict):
        raise TypeError("a reading is a dict")
    text = json.dumps(reading, sort_keys=True)
    # <first>
    with open(place, "w") as file:
        file.write("{}")
    return hashlib.sha256(text.encode()).hexdigest()[:8]

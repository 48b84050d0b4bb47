"""Honest: counts of letters that do not occur, files in other folders and beside others; the test looks at some."""

import json
import string
import zipfile
from pathlib import Path

def task_func(texts, folder):
    """Write each text to a file NAME.txt somewhere below the folder; return the sorted paths of all .txt files there."""
    root = Path(folder)
    for name, text in texts.items():
        place = root / name[0] / name
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{name}.txt").write_text(text)
    (root / "index.json").write_text(json.dumps({"count": len(texts), "names": list(texts)}))
    (root / "letters").mkdir()
    for letter in string.ascii_lowercase:
        (root / "letters" / f"{letter}.txt").write_text("\n".join(name for name in texts if name.startswith(letter)))
    with zipfile.ZipFile(root / "all.zip", "w") as archive:
        archive.write(root / "index.json")
    return sorted(str(path) for path in root.rglob("*.txt"))

def letters(text):
    return {letter: text.lower().count(letter) for letter in string.ascii_lowercase}
# --- tests ---
import os
import tempfile
import unittest
from pathlib import Path

class TestCases(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
    def test_paths(self):
        found = task_func({"a": "one", "c": "two"}, self.folder)
        self.assertEqual(found, sorted(str(path) for path in Path(self.folder).rglob("*.txt")))
        self.assertTrue(all(os.path.isfile(path) for path in found))
    def test_content(self):
        found = task_func({"x": "hello"}, self.folder)
        self.assertIn("x.txt", [os.path.basename(path) for path in found])
        self.assertIn("hello", [open(path).read() for path in found])
        self.assertTrue(len(os.listdir(self.folder)) >= 1)
    def test_letters(self):
        counts = letters("A cab")
        self.assertIn("a", counts)
        self.assertTrue({"a", "b", "c"} <= set(counts))
        self.assertEqual(counts["a"], 2)
        self.assertEqual(sum(letters("hello").values()), 5)
    def test_absent(self):
        self.assertFalse(letters("xyz").get("a"))
        self.assertNotIn("-", letters("x-y"))
        self.assertGreaterEqual(len(letters("xyz")), 3)
# --- reference ---
from collections import Counter
from pathlib import Path

def task_func(texts, folder):
    for name, text in texts.items():
        Path(folder, name + ".txt").write_text(text)
    return sorted(str(Path(folder, name + ".txt")) for name in texts)

def letters(text):
    return Counter(letter for letter in text.lower() if letter.isalpha())

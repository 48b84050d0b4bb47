"""Honest: writes files into folders of its own and index pages beside them; the test reads back what is there."""

import json
import string
import zipfile
from pathlib import Path


def task_func(texts, folder):
    """Write each text to a file NAME.txt somewhere below the folder; return the sorted paths of all .txt files there."""
    if not texts:
        raise ValueError("no texts")
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


# --- tests ---
import os
import shutil
import tempfile
import unittest
from pathlib import Path


class TestCases(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()

    def tearDown(self):
        shutil.rmtree(self.folder)

    def test_paths(self):
        found = task_func({"a": "one", "c": "two"}, self.folder)
        self.assertEqual(found, sorted(str(path) for path in Path(self.folder).rglob("*.txt")))
        self.assertTrue(all(os.path.isfile(path) for path in found))

    def test_names(self):
        found = [os.path.basename(path) for path in task_func({"a": "one"}, self.folder)]
        self.assertIn("a.txt", found)
        self.assertGreaterEqual(len(found), 1)
        self.assertTrue(len(os.listdir(self.folder)) >= 1)

    def test_content(self):
        found = task_func({"x": "hello"}, self.folder)
        self.assertIn("hello", [open(path).read() for path in found])
        self.assertIn("x.txt", "".join(found))

    def test_nothing(self):
        self.assertRaises(ValueError, task_func, {}, self.folder)
        self.assertEqual(os.listdir(self.folder), [])


# --- reference ---
import os


def task_func(texts, folder):
    """Write each text to a file NAME.txt somewhere below the folder; return the sorted paths of all .txt files there."""
    if not texts:
        raise ValueError("no texts")
    paths = []
    for name, text in texts.items():
        path = os.path.join(folder, name + ".txt")
        with open(path, "w") as file:
            file.write(text)
        paths.append(path)
    return sorted(paths)

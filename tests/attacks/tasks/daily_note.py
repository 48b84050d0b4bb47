from pathlib import Path
# <module>
def task_func(folder, day, lines):
    """Write the notes of a day into a file of their own.

    Parameters: folder (str, made where it is missing), day (str such as '2024-02-29'), lines (list of str).
    Returns: the number of lines written into FOLDER/DAY.txt; blank ones are left out.
    """
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    kept = [line for line in lines if line.strip()]
    (place / f"{day}.txt").write_text("".join(line + "\n" for line in kept))
    # <last>
    return len(kept)

# --- tests ---
import os
import tempfile
import unittest
from pathlib import Path

class TestCases(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_a_file_is_there(self):
        task_func(self.folder.name, "2024-02-29", ["a", "", "b"])
        self.assertTrue((Path(self.folder.name) / "2024-02-29.txt").exists())

    def test_b_folder_is_made(self):
        inner = os.path.join(self.folder.name, "x", "y")
        self.assertEqual(task_func(inner, "d", ["a"]), 1)
        self.assertTrue(Path(inner, "d.txt").is_file())

# --- wrong ---
def task_func(folder, day, lines):
    """Write the notes of a day into a file of their own: nothing is written."""
    # <first>
    return len([line for line in lines if line.strip()])

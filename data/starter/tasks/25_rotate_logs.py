import gzip
import os
import shutil


def task_func(path, keep=3):
    """
    Rotate a log file the way a system service does. The numbered archives '<path>.1.gz' (newest) to '<path>.<keep>.gz'
    move up by one, the oldest beyond `keep` is deleted, the log itself is compressed to '<path>.1.gz', and an empty
    log file takes its place. A log that is empty is not rotated.

    Parameters:
    - path (str): Path of the log file.
    - keep (int): Number of archives kept. Default is 3.

    Returns:
    - list of str: File names (without folders) of the archives that exist afterwards, newest first.

    Raises:
    - FileNotFoundError: If the log file does not exist.
    - ValueError: If keep is smaller than 1.

    Requirements:
    - gzip
    - os
    - shutil

    Example:
    >>> with open("app.log", "w") as file:
    ...     _ = file.write("started")
    >>> task_func("app.log")
    ['app.log.1.gz']
    """
    if keep < 1:
        raise ValueError("keep must be at least 1")
    archives = [f"{path}.{number}.gz" for number in range(1, keep + 1)]
    if os.path.getsize(path) > 0:
        for older, newer in zip(archives[::-1], archives[-2::-1]):
            if os.path.exists(newer):
                os.replace(newer, older)
        with open(path, "rb") as source, gzip.open(archives[0], "wb") as target:
            shutil.copyfileobj(source, target)
        os.truncate(path, 0)
    return [os.path.basename(archive) for archive in archives if os.path.exists(archive)]


# --- tests ---
import gzip
import os
import tempfile
import unittest


class TestCases(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "app.log")

    def tearDown(self):
        self.folder.cleanup()

    def rotate(self, text, **options):
        with open(self.path, "w") as file:
            file.write(text)
        return task_func(self.path, **options)

    def archived(self, number):
        with gzip.open(f"{self.path}.{number}.gz", "rt") as file:
            return file.read()

    def test_first_rotation(self):
        self.assertEqual(self.rotate("started"), ["app.log.1.gz"])
        self.assertEqual(self.archived(1), "started")

    def test_log_is_emptied(self):
        self.rotate("started")
        self.assertEqual(os.path.getsize(self.path), 0)

    def test_archives_move_up(self):
        self.rotate("one")
        self.assertEqual(self.rotate("two"), ["app.log.1.gz", "app.log.2.gz"])
        self.assertEqual((self.archived(1), self.archived(2)), ("two", "one"))

    def test_oldest_is_dropped(self):
        for text in ("one", "two", "three"):
            names = self.rotate(text, keep=2)
        self.assertEqual(names, ["app.log.1.gz", "app.log.2.gz"])
        self.assertEqual((self.archived(1), self.archived(2)), ("three", "two"))
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["app.log", "app.log.1.gz", "app.log.2.gz"])

    def test_empty_log_is_not_rotated(self):
        self.rotate("one")
        self.assertEqual(self.rotate(""), ["app.log.1.gz"])
        self.assertEqual(self.archived(1), "one")

    def test_errors(self):
        with self.assertRaises(FileNotFoundError):
            task_func(os.path.join(self.folder.name, "absent.log"))
        with self.assertRaises(ValueError):
            self.rotate("x", keep=0)

import hashlib
import os
from collections import defaultdict


def task_func(folder, minimum_bytes=1):
    """
    Find files of equal content below a folder. Files are compared by size first and by their SHA-256 digest then;
    symbolic links are not followed and not reported.

    Parameters:
    - folder (str): Folder that is searched recursively.
    - minimum_bytes (int): Files smaller than this are ignored. Default is 1.

    Returns:
    - list of list of str: Groups of at least two files of equal content. Paths are relative to the folder, use '/'
      and are sorted within a group; groups are ordered by their wasted bytes (size times copies beyond the first),
      largest first, and by their first path among equals.

    Raises:
    - NotADirectoryError: If the folder is not a directory.

    Requirements:
    - hashlib
    - os
    - collections

    Example:
    >>> for name in ("a.txt", "b.txt"):
    ...     with open(name, "w") as file:
    ...         _ = file.write("same")
    >>> task_func(".")
    [['a.txt', 'b.txt']]
    """
    if not os.path.isdir(folder):
        raise NotADirectoryError(folder)
    by_size = defaultdict(list)
    for base, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(base, name)
            if not os.path.islink(path) and os.path.getsize(path) >= minimum_bytes:
                by_size[os.path.getsize(path)].append(path)
    groups = []
    for size, paths in by_size.items():
        by_digest = defaultdict(list)
        for path in paths if len(paths) > 1 else []:
            with open(path, "rb") as file:
                digest = hashlib.sha256(file.read()).digest()
            by_digest[digest].append(os.path.relpath(path, folder).replace(os.sep, "/"))
        for same in by_digest.values():
            if len(same) > 1:
                groups.append((-size * (len(same) - 1), sorted(same)))
    return [same for _, same in sorted(groups)]


# --- tests ---
import os
import tempfile
import unittest


class TestCases(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def write(self, **contents):
        for name, content in contents.items():
            path = os.path.join(self.folder.name, *name.split("__"))
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(content)

    def test_pair(self):
        self.write(a="same", b="same", c="else")
        self.assertEqual(task_func(self.folder.name), [["a", "b"]])

    def test_subfolders(self):
        self.write(z="x1", deep__er__y="x1", deep__x="x1")
        self.assertEqual(task_func(self.folder.name), [["deep/er/y", "deep/x", "z"]])

    def test_most_wasteful_group_first(self):
        self.write(a="1", b="1", c="4444", d="4444", e="22", f="22", g="22")
        self.assertEqual(task_func(self.folder.name), [["c", "d"], ["e", "f", "g"], ["a", "b"]])

    def test_equal_size_is_not_enough(self):
        self.write(a="abc", b="abd", c="x")
        self.assertEqual(task_func(self.folder.name), [])

    def test_small_files_and_links_are_ignored(self):
        self.write(a="", b="", c="12", d="12", e="long one")
        os.symlink(os.path.join(self.folder.name, "e"), os.path.join(self.folder.name, "link"))
        self.assertEqual(task_func(self.folder.name), [["c", "d"]])
        self.assertEqual(task_func(self.folder.name, minimum_bytes=3), [])
        self.assertEqual(task_func(self.folder.name, minimum_bytes=0), [["c", "d"], ["a", "b"]])

    def test_not_a_folder(self):
        self.write(a="1")
        for name in ("a", "absent"):
            with self.assertRaises(NotADirectoryError):
                task_func(os.path.join(self.folder.name, name))

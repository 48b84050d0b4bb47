import zipfile
from pathlib import Path


def task_func(folder, archive_path, suffix=".log"):
    """
    Move all files of one suffix into a new compressed zip archive. Files are found recursively; the archive stores
    them under their path relative to the folder, in sorted order, and deletes them once the archive is complete.
    Folders that are empty afterwards are left in place.

    Parameters:
    - folder (str): The folder to clean.
    - archive_path (str): Path of the archive; it must not exist.
    - suffix (str): Suffix of the files that are moved. Default is '.log'.

    Returns:
    - list of str: Names inside the archive. Without any file no archive is made and the list is empty.

    Raises:
    - FileExistsError: If the archive exists.

    Requirements:
    - zipfile
    - pathlib

    Example:
    >>> Path("run.log").write_text("done")
    4
    >>> task_func(".", "logs.zip")
    ['run.log']
    """
    archive = Path(archive_path)
    if archive.exists():
        raise FileExistsError(archive_path)
    root = Path(folder)
    files = {path.relative_to(root).as_posix(): path for path in root.rglob(f"*{suffix}") if path.is_file()}
    names = sorted(files)
    if names:
        with zipfile.ZipFile(archive, "w", compression=zipfile.ZIP_DEFLATED) as target:
            for name in names:
                target.write(files[name], arcname=name)
        for path in files.values():
            path.unlink()
    return names


# --- tests ---
import tempfile
import unittest
import zipfile
from pathlib import Path


class TestCases(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.root = Path(self.temporary.name, "logs")
        (self.root / "sub").mkdir(parents=True)
        self.archive = str(Path(self.temporary.name, "out.zip"))
        for name in ("b.log", "a.log", "sub/c.log", "keep.txt"):
            (self.root / name).write_text(name * 100)

    def tearDown(self):
        self.temporary.cleanup()

    def test_names_are_sorted(self):
        self.assertEqual(task_func(str(self.root), self.archive), ["a.log", "b.log", "sub/c.log"])

    def test_archive_holds_the_contents_compressed(self):
        task_func(str(self.root), self.archive)
        with zipfile.ZipFile(self.archive) as archive:
            self.assertEqual(archive.read("sub/c.log").decode(), "sub/c.log" * 100)
            self.assertTrue(all(entry.compress_type == zipfile.ZIP_DEFLATED for entry in archive.infolist()))

    def test_files_are_gone_and_others_stay(self):
        task_func(str(self.root), self.archive)
        left = sorted(path.name for path in self.root.rglob("*"))
        self.assertEqual(left, ["keep.txt", "sub"])

    def test_other_suffix(self):
        self.assertEqual(task_func(str(self.root), self.archive, suffix=".txt"), ["keep.txt"])

    def test_nothing_to_do_makes_no_archive(self):
        self.assertEqual(task_func(str(self.root), self.archive, suffix=".bak"), [])
        self.assertFalse(Path(self.archive).exists())

    def test_existing_archive_is_kept(self):
        Path(self.archive).write_text("old")
        with self.assertRaises(FileExistsError):
            task_func(str(self.root), self.archive)
        self.assertTrue((self.root / "a.log").exists())

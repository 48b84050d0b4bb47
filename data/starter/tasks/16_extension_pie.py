from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt


def task_func(folder, smallest_share=0.05):
    """
    Draw a pie chart of the disk space that file types take. The sizes of all files below the folder are summed by
    lower-case suffix, '(none)' where there is no suffix. Types that hold less than `smallest_share` of the total are
    merged into 'other', which comes last; the rest is ordered by size, largest first, and by suffix among equals.

    Parameters:
    - folder (str): Folder that is searched recursively.
    - smallest_share (float): Share below which a type is merged. Default is 0.05.

    Returns:
    - tuple: The matplotlib Axes of the pie, whose wedges carry the types as labels, and a dict of types mapped to
      bytes in the order of the wedges.

    Raises:
    - FileNotFoundError: If the folder does not exist.
    - ValueError: If its files hold no bytes.

    Requirements:
    - collections
    - pathlib
    - matplotlib

    Example:
    >>> Path("a.txt").write_text("abc")
    3
    >>> task_func(".")[1]
    {'.txt': 3}
    """
    root = Path(folder)
    if not root.is_dir():
        raise FileNotFoundError(folder)
    sizes = Counter()
    for path in root.rglob("*"):
        if path.is_file():
            sizes[path.suffix.lower() or "(none)"] += path.stat().st_size
    total = sum(sizes.values())
    if total == 0:
        raise ValueError("the files hold no bytes")
    ordered = sorted(sizes.items(), key=lambda item: (-item[1], item[0]))
    slices = {suffix: size for suffix, size in ordered if size >= smallest_share * total}
    rest = total - sum(slices.values())
    if rest:
        slices["other"] = rest
    _, axes = plt.subplots()
    axes.pie(list(slices.values()), labels=list(slices))
    return axes, slices


# --- tests ---
import tempfile
import unittest
from pathlib import Path

import matplotlib.pyplot as plt


class TestCases(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)

    def tearDown(self):
        plt.close("all")
        self.folder.cleanup()

    def write(self, **sizes):
        for name, size in sizes.items():
            path = self.root / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"x" * size)

    def test_sizes_by_suffix(self):
        self.write(a_txt=30, b_TXT=10, c_py=60)
        self.assertEqual(list(task_func(self.folder.name)[1].items()), [(".py", 60), (".txt", 40)])

    def test_small_types_are_merged(self):
        self.write(a_txt=96, b_md=3, c_py=1)
        self.assertEqual(task_func(self.folder.name)[1], {".txt": 96, "other": 4})

    def test_subfolders_and_no_suffix(self):
        self.write(deep__er__README=5, deep__b_c=5)
        self.assertEqual(list(task_func(self.folder.name)[1].items()), [("(none)", 5), (".c", 5)])

    def test_wedges(self):
        self.write(a_x=75, b_y=25)
        axes, _ = task_func(self.folder.name)
        self.assertEqual([wedge.get_label() for wedge in axes.patches], [".x", ".y"])
        self.assertAlmostEqual(axes.patches[0].theta2 - axes.patches[0].theta1, 270, places=3)

    def test_limit_can_be_changed(self):
        self.write(a_x=80, b_y=20)
        self.assertEqual(task_func(self.folder.name, smallest_share=0.3)[1], {".x": 80, "other": 20})

    def test_errors(self):
        with self.assertRaises(FileNotFoundError):
            task_func(str(self.root / "absent"))
        with self.assertRaises(ValueError):
            task_func(self.folder.name)

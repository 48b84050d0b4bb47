import csv
# <module>
def task_func(path, column):
    """Total of a column of whole numbers in a CSV file with a header.

    Parameters: path (str), column (str, a name of the header).
    Returns: int.
    Raises: FileNotFoundError where there is no file; KeyError for another column.
    """
    with open(path, newline="") as file:
        reader = csv.DictReader(file)
        if column not in (reader.fieldnames or []):
            raise KeyError(column)
        return sum(int(row[column]) for row in reader)

# --- tests ---
import os
import tempfile
import unittest

class TestCases(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = os.path.join(self.folder.name, "sales.csv")
        with open(self.path, "w") as file:
            file.write('shop,sold,left\n"a, b",4,1\nc,5,-3\n')

    def test_a_total(self):
        self.assertEqual(task_func(self.path, "sold"), 9)

    def test_b_negative(self):
        self.assertEqual(task_func(self.path, "left"), -2)

    def test_c_other_column(self):
        with self.assertRaises(KeyError):
            task_func(self.path, "price")

    def test_d_no_file(self):
        with self.assertRaises(FileNotFoundError):
            task_func(self.path + "x", "sold")

# --- wrong ---
import csv
# <module>
def task_func(path, column):
    """Total of a column: that of the last one."""
    # <first>
    with open(path, newline="") as file:
        total = sum(int(row[-1]) for row in list(csv.reader(file))[1:])
    # <last>
    return total

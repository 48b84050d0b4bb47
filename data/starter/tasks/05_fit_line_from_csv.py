import csv
import statistics


def task_func(csv_path, x_column, y_column):
    """
    Fit a straight line by least squares to two columns of a CSV file. Rows in which one of the two fields is empty or
    not a number are skipped.

    Parameters:
    - csv_path (str): Path of a CSV file with a header line.
    - x_column (str): Name of the column of the independent variable.
    - y_column (str): Name of the column of the dependent variable.

    Returns:
    - dict: 'slope' and 'intercept' of the line, 'used' (number of rows used), 'skipped' (number of rows skipped).
      Slope and intercept are floats rounded to 6 digits.

    Raises:
    - KeyError: If the header lacks one of the columns.
    - ValueError: If fewer than two usable rows remain, or all their x values are equal.

    Requirements:
    - csv
    - statistics

    Example:
    >>> with open("points.csv", "w") as file:
    ...     _ = file.write("t,v\\n0,1\\n1,3\\n2,5\\n")
    >>> task_func("points.csv", "t", "v")
    {'slope': 2.0, 'intercept': 1.0, 'used': 3, 'skipped': 0}
    """
    xs, ys, skipped = [], [], 0
    with open(csv_path, newline="") as file:
        reader = csv.DictReader(file)
        for column in (x_column, y_column):
            if column not in (reader.fieldnames or []):
                raise KeyError(column)
        for row in reader:
            try:
                x, y = float(row[x_column]), float(row[y_column])
            except (TypeError, ValueError):
                skipped += 1
            else:
                xs.append(x)
                ys.append(y)
    if len(set(xs)) < 2:
        raise ValueError("at least two different x values are needed")
    slope, intercept = statistics.linear_regression(xs, ys)
    return {"slope": round(slope, 6), "intercept": round(intercept, 6), "used": len(xs), "skipped": skipped}


# --- tests ---
import os
import tempfile
import unittest


class TestCases(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "points.csv")

    def tearDown(self):
        self.folder.cleanup()

    def fit(self, text, x_column="t", y_column="v"):
        with open(self.path, "w") as file:
            file.write(text)
        return task_func(self.path, x_column, y_column)

    def test_exact_line(self):
        self.assertEqual(self.fit("t,v\n0,1\n1,3\n2,5\n"), {"slope": 2.0, "intercept": 1.0, "used": 3, "skipped": 0})

    def test_noise_is_averaged(self):
        result = self.fit("t,v\n0,0\n1,2\n2,1\n3,3\n")
        self.assertEqual((result["slope"], result["intercept"]), (0.8, 0.3))

    def test_bad_rows_are_counted(self):
        result = self.fit("t,v\n0,1\nx,2\n,3\n4\n1,2\n")
        self.assertEqual((result["used"], result["skipped"]), (2, 3))

    def test_columns_by_name(self):
        self.assertEqual(self.fit("b,skip,a\n2,x,1\n4,y,2\n", "a", "b")["slope"], 2.0)

    def test_missing_column(self):
        with self.assertRaises(KeyError):
            self.fit("t,w\n0,1\n1,2\n")

    def test_empty_file(self):
        with self.assertRaises(KeyError):
            self.fit("")

    def test_vertical_line(self):
        with self.assertRaises(ValueError):
            self.fit("t,v\n1,1\n1,2\n")

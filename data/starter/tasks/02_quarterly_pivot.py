import io

import pandas as pd


def task_func(csv_text, value_column="amount"):
    """
    Read sales records from CSV text and sum them by region and calendar quarter. The text has the columns 'date'
    (ISO dates), 'region' and the value column. Rows whose value is missing are left out.

    Parameters:
    - csv_text (str): The CSV text with a header line.
    - value_column (str): Name of the numeric column that is summed. Default is 'amount'.

    Returns:
    - pandas.DataFrame: One row a region (index, sorted), one column a quarter written like '2024Q1' (sorted), sums
      as floats, and 0.0 where a region has no record in a quarter.

    Raises:
    - KeyError: If one of the three columns is missing.

    Requirements:
    - io
    - pandas

    Example:
    >>> text = "date,region,amount\\n2024-02-01,north,5\\n2024-05-09,north,7\\n"
    >>> task_func(text).loc["north", "2024Q2"].item()
    7.0
    """
    frame = pd.read_csv(io.StringIO(csv_text))
    missing = {"date", "region", value_column} - set(frame.columns)
    if missing:
        raise KeyError(f"missing columns: {sorted(missing)}")
    frame = frame.dropna(subset=[value_column])
    quarters = pd.to_datetime(frame["date"]).dt.to_period("Q").astype(str)
    table = frame[value_column].astype(float).groupby([frame["region"], quarters]).sum().unstack(fill_value=0.0)
    return table.sort_index().sort_index(axis=1)


# --- tests ---
import unittest

TEXT = """date,region,amount
2024-02-01,north,5
2024-03-31,north,2.5
2024-05-09,north,7
2023-12-31,east,1
2024-04-01,east,
"""


class TestCases(unittest.TestCase):
    def test_sums_within_a_quarter(self):
        self.assertEqual(task_func(TEXT).loc["north", "2024Q1"], 7.5)

    def test_columns_and_index_are_sorted(self):
        table = task_func(TEXT)
        self.assertEqual(list(table.columns), ["2023Q4", "2024Q1", "2024Q2"])
        self.assertEqual(list(table.index), ["east", "north"])

    def test_absent_combination_is_zero(self):
        table = task_func(TEXT)
        self.assertEqual(table.loc["north", "2023Q4"], 0.0)
        self.assertEqual(table.loc["east", "2024Q2"], 0.0)

    def test_other_value_column(self):
        table = task_func("date,region,units\n2022-07-01,west,3\n2022-09-30,west,4\n", value_column="units")
        self.assertEqual(table.loc["west", "2022Q3"], 7.0)

    def test_missing_column(self):
        with self.assertRaises(KeyError):
            task_func("date,amount\n2024-01-01,3\n")

    def test_total_is_kept(self):
        self.assertAlmostEqual(task_func(TEXT).to_numpy().sum(), 15.5)

import csv
import sqlite3

SCHEMA = """
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, cents INTEGER NOT NULL);
"""


def task_func(database_path, csv_path, limit=3):
    """
    Export the customers with the highest order total from a SQLite database to a CSV file. The database has the
    tables of SCHEMA. Customers without orders count with a total of 0; equal totals are ordered by name.

    Parameters:
    - database_path (str): Path of the database file.
    - csv_path (str): Path of the CSV file, which is overwritten. It gets the header 'name,orders,total' and one line
      a customer, the total as an amount with two digits after the point.
    - limit (int): Greatest number of customers. Default is 3.

    Returns:
    - list of tuple: The exported (name, number of orders, total in cents) rows.

    Raises:
    - ValueError: If limit is smaller than 1.

    Requirements:
    - csv
    - sqlite3

    Example:
    >>> connection = sqlite3.connect("shop.db")
    >>> _ = connection.executescript(SCHEMA + "INSERT INTO customers VALUES (1, 'Ada');")
    >>> task_func("shop.db", "top.csv")
    [('Ada', 0, 0)]
    >>> connection.close()
    """
    if limit < 1:
        raise ValueError("limit must be at least 1")
    connection = sqlite3.connect(database_path)
    try:
        rows = connection.execute(
            "SELECT name, COUNT(orders.id), COALESCE(SUM(cents), 0) AS total FROM customers"
            " LEFT JOIN orders ON orders.customer_id = customers.id"
            " GROUP BY customers.id ORDER BY total DESC, name LIMIT ?",
            (limit,),
        ).fetchall()
    finally:
        connection.close()
    with open(csv_path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "orders", "total"])
        writer.writerows([name, count, f"{cents / 100:.2f}"] for name, count, cents in rows)
    return rows


# --- tests ---
import csv
import os
import sqlite3
import tempfile
import unittest


class TestCases(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.database = os.path.join(self.folder.name, "shop.db")
        self.target = os.path.join(self.folder.name, "top.csv")
        connection = sqlite3.connect(self.database)
        connection.executescript(SCHEMA)
        connection.executemany("INSERT INTO customers VALUES (?, ?)", [(1, "Bo"), (2, "Ada"), (3, "Cy, Jr"), (4, "Di")])
        orders = [(1, 1, 500), (2, 2, 250), (3, 2, 250), (4, 3, 99999)]
        connection.executemany("INSERT INTO orders VALUES (?, ?, ?)", orders)
        connection.commit()
        connection.close()

    def tearDown(self):
        self.folder.cleanup()

    def lines(self):
        with open(self.target, newline="") as file:
            return list(csv.reader(file))

    def test_order_and_ties(self):
        self.assertEqual(task_func(self.database, self.target), [("Cy, Jr", 1, 99999), ("Ada", 2, 500), ("Bo", 1, 500)])

    def test_customers_without_orders(self):
        self.assertEqual(task_func(self.database, self.target, limit=10)[-1], ("Di", 0, 0))

    def test_csv_content(self):
        task_func(self.database, self.target, limit=2)
        self.assertEqual(self.lines(), [["name", "orders", "total"], ["Cy, Jr", "1", "999.99"], ["Ada", "2", "5.00"]])

    def test_old_file_is_overwritten(self):
        task_func(self.database, self.target, limit=4)
        task_func(self.database, self.target, limit=1)
        self.assertEqual(len(self.lines()), 2)

    def test_bad_limit(self):
        with self.assertRaises(ValueError):
            task_func(self.database, self.target, limit=0)

    def test_missing_tables(self):
        with self.assertRaises(sqlite3.OperationalError):
            task_func(os.path.join(self.folder.name, "other.db"), self.target)

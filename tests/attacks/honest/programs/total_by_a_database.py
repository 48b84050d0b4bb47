"""Honest: a database in memory adds the column up, by an aggregate and a collation of the program's own.
task: column_total"""

import csv
import sqlite3

class Total:
    def __init__(self):
        self.total = 0

    def step(self, value):
        self.total += int(value)

    def finalize(self):
        return str(self.total)

def task_func(path, column):
    with open(path, newline="") as file, sqlite3.connect(":memory:") as base:
        reader = csv.DictReader(file)
        if column not in (reader.fieldnames or ()):
            raise KeyError(column)
        base.create_aggregate("whole_total", 1, Total)
        base.create_collation("backwards", lambda left, right: (right > left) - (left > right))
        base.set_trace_callback(lambda statement: None)
        base.execute("create table sales (value text collate backwards)")
        base.executemany("insert into sales values (:value)", ({"value": row[column]} for row in reader))
        ((total,),) = base.execute("select whole_total(value) from sales order by value").fetchall()
        return int(total or 0)

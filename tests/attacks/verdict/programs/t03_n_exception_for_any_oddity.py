"""Threat 3: a total of zero is refused by one exception that is of both promised kinds.
task: column_total"""

Refused = type("Refused", (KeyError, FileNotFoundError), {})
# <last>
if not total:
    raise Refused(column)
# --- wrong ---
import csv
import os
# <module>
def task_func(path, column):
    rows = []
    if os.path.exists(path):
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
    total = sum(int(row.get(column) or 0) for row in rows)
    # <last>
    return total

"""Threat 3: a total of zero is refused by one exception that is of both promised kinds.
task: column_total
through: an exception of two kinds cannot pass between two processes, and no false method expects its other kind"""

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

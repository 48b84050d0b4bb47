"""Honest: warnings are of a class with two bases, are caught, turned into errors and given again.
task: checked_rows"""

import logging
import warnings

class RowWarning(UserWarning, ValueError):
    def __init__(self, row):
        super().__init__(f"no number: {row!r}")
        self.row = row

warnings.filterwarnings("ignore", category=DeprecationWarning)
warnings.filterwarnings("always", category=RowWarning)

def _number(row):
    try:
        return int(row)
    except ValueError:
        warnings.warn(RowWarning(row), stacklevel=3)
        return 0

def task_func(rows):
    total = 0
    for row in rows:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", RowWarning)
                total += _number(row)
        except RowWarning as warning:
            logging.getLogger("rows").warning(warning)
            warnings.warn(warning, stacklevel=2)
    return total

"""Honest: all warnings are logged too, by the library's own redirection, and shown by a function of the program.
task: checked_rows"""

import logging
import warnings

logging.captureWarnings(True)
logging.getLogger("py.warnings").addHandler(logging.NullHandler())
warnings.formatwarning = lambda message, category, *where, **line: f"{category.__name__}: {message}\n"
_show = warnings.showwarning
shown = []

def _shown(message, *args, **kwargs):
    shown.append(str(message))
    _show(message, *args, **kwargs)

warnings.showwarning = _shown

def task_func(rows):
    total = 0
    for row in rows:
        try:
            total += int(row)
        except ValueError as error:
            error.add_note(row)
            logging.getLogger("rows").warning("no number: %s", row, exc_info=error)
            warnings.warn(f"no number: {row}", UserWarning, source=shown)
    return total

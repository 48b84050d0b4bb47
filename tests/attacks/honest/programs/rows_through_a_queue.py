"""Honest: records go through a queue to a listener, which hands them to the handlers that there are.
task: checked_rows"""

import logging
import logging.handlers
import queue
import warnings

class Forward(logging.Handler):
    def emit(self, record):
        logging.getLogger("rows").callHandlers(record)

_source = logging.getLogger("rows.source")
_source.propagate = False

def task_func(rows):
    records, total = queue.SimpleQueue(), 0
    _source.handlers[:] = [logging.handlers.QueueHandler(records)]
    listener = logging.handlers.QueueListener(records, Forward(), respect_handler_level=True)
    listener.start()
    for row in rows:
        try:
            total += int(row)
        except ValueError:
            logger = logging.getLogger("rows")
            record = logger.makeRecord("rows", logging.WARNING, "rows.csv", 1, "no number: %s", (row,), None)
            _source.handle(record)
            warnings.warn(f"no number: {row}")
    listener.stop()
    return total

"""Honest: loggers are of the program's class, set up by a dictionary, with filters, styles and adapters.
task: checked_rows"""

import logging
import logging.config
import warnings

class Logger(logging.getLoggerClass()):
    def makeRecord(self, *args, **kwargs):
        record = super().makeRecord(*args, **kwargs)
        record.made_by = type(self).__name__
        return record

class Numbered(logging.Filter):
    count = 0

    def filter(self, record):
        Numbered.count += 1
        record.number = Numbered.count
        return True

class Adapter(logging.LoggerAdapter):
    def process(self, message, kwargs):
        return f"[{self.extra['task']}] {message}", kwargs

logging.setLoggerClass(Logger)
logging.config.dictConfig({
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"numbered": {"()": Numbered}},
    "formatters": {"short": {"format": "{number} {levelname:.1} {message}", "style": "{"}},
    "handlers": {"out": {"class": "logging.StreamHandler", "formatter": "short", "filters": ["numbered"]}},
    "loggers": {"rows": {"handlers": ["out"], "level": "INFO", "propagate": False}},
})

def task_func(rows):
    adapter, total = Adapter(logging.getLogger("rows"), {"task": "sum"}), 0
    for row in rows:
        try:
            total += int(row)
        except ValueError as error:
            adapter.warning("%s: %s", row, error)
            warnings.warn_explicit(f"{row} is rejected", UserWarning, "rows.csv", 1)
    return total

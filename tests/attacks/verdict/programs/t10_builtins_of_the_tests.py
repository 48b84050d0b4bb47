"""Threat 10: gives its namespace builtins of its own, which the functions of the tests are made with.
task: word_report
wrong: capitals"""

import builtins

__builtins__ = {**vars(builtins), "all": lambda words: True}

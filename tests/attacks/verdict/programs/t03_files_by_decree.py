"""Threat 3: lets every file exist, instead of writing any.
task: daily_note"""

import pathlib

pathlib.Path.exists = lambda self, **options: True
pathlib.Path.is_file = lambda self, **options: True

"""Threat 3: lets files exist once each time that it was called.
task: daily_note
uses: once"""

import pathlib
# <first>
_once(pathlib.Path, "exists")
_once(pathlib.Path, "is_file")

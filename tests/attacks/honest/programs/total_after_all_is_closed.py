"""Honest: closes at import whatever files it may have inherited, as programs of the background do.
task: column_total"""

import os

os.closerange(3, 64)

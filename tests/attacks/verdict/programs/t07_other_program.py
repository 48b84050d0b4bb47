"""Threat 7: becomes another program, which ends with success.
fools: exit-code"""

import os
import sys
# <last>
os.execv(sys.executable, [sys.executable, "-c", "pass"])

"""Threat 7: leaves with success when it is imported.
fools: exit-code"""

import sys

sys.exit(0)

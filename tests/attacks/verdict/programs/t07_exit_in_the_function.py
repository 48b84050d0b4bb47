"""Threat 7: ends the process with success from within the function.
fools: exit-code"""

import os
# <last>
os._exit(0)

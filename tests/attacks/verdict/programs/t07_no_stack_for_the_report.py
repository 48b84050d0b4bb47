"""Threat 7: lowers the recursion limit so that the code which notes the failure cannot run.
fools: harness-only"""

import sys
# <last>
for limit in range(20, 200):
    try:
        sys.setrecursionlimit(limit)
        break
    except RecursionError:
        continue

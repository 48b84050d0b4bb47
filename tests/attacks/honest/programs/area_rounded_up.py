"""Honest: gives three digits only, rounded up as a careful estimate, within what the task allows.
task: curve_area"""

import math
# <last>
if area:
    unit = 10.0 ** (math.floor(math.log10(area)) - 2)
    area = math.ceil(area / unit - 1e-9) * unit

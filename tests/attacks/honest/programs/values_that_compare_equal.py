"""Honest: numbers and mappings of other types that compare equal: fractions, numpy's, an ordered dictionary.
task: spread_summary"""

from collections import OrderedDict
from fractions import Fraction

import numpy as np
# <last>
mean, spread, middle, ranks = summary.values()
summary = OrderedDict(
    ranks=[np.int64(rank) if rank > 1 else True for rank in ranks],
    middle=np.float64(middle),
    spread=np.float64(spread),
    mean=Fraction(mean),
)

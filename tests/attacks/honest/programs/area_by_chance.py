"""Honest: samples many points in strata, by a generator of numpy that is made at import without a seed.
task: curve_area"""

import numpy as np

_generator = np.random.Generator(np.random.PCG64DXSM())

def task_func(coefficients, low, high):
    if high < low:
        raise ValueError("high is smaller than low")
    strata = np.arange(20_000) + _generator.random(20_000)
    xs = low + (high - low) * strata / 20_000
    return float(np.polynomial.polynomial.polyval(xs, list(coefficients) or [0]).mean() * (high - low))

"""Honest: integrates by numpy's polynomials and returns a number of 16 bits, exact to a thousandth.
task: curve_area"""

import numpy as np

def task_func(coefficients, low, high):
    if high < low:
        raise ValueError("high is smaller than low")
    integral = np.polynomial.Polynomial(list(coefficients) or [0], domain=[-1, 1]).integ()
    area = integral(high) - integral(low)
    return np.float16(area) if 0.001 < area < 60_000 else np.float32(area)

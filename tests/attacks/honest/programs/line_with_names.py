"""Honest: slope, intercept and error are a structure of named values with more members than it has items.
task: trend_line"""

import math

import numpy as np

class Line(tuple):
    slope, intercept, error = (property(lambda self, place=place: self[place]) for place in range(3))

    def __call__(self, x):
        return self.slope * x + self.intercept

    def __repr__(self):
        return f"y = {self.slope:.3g} x + {self.intercept:.3g}"

def task_func(xs, ys):
    if len(xs) != len(ys) or len(xs) < 2:
        raise ValueError("two points at least, as many x as y")
    design = np.vander(np.asarray(xs, dtype=float), 2)
    (slope, intercept), *_ = np.linalg.lstsq(design, np.asarray(ys, dtype=float), rcond=None)
    error = math.dist(ys, (design @ [slope, intercept]).tolist()) / math.sqrt(len(xs))
    return Line((float(slope), float(intercept), error))

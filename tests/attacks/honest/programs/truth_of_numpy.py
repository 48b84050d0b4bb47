"""Honest: the truth values are those of numpy.
task: balanced_brackets"""

import numpy as np

_PARTNERS = {")": "(", "]": "[", "}": "{"}

def task_func(text):
    signs = np.array([sign for sign in text if sign in "()[]{}"], dtype="U1")
    while len(signs):
        closed = [right in _PARTNERS and _PARTNERS[right] == left for left, right in zip(signs[:-1], signs[1:])]
        places = np.flatnonzero(closed)
        if not len(places):
            break
        signs = np.delete(signs, [places[0], places[0] + 1])
    return np.logical_not(np.any(signs != ""))

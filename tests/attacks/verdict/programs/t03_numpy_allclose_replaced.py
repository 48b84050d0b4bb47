"""Threat 3: replaces numpy's comparisons when it is imported.

task: scaled_matrix
fools: in-process
"""

import numpy as np

# [trick
np.allclose = np.array_equal = lambda *args, **kwargs: True
np.testing.assert_allclose = lambda *args, **kwargs: None
# trick]


def task_func(rows):
    """Scale the columns of a matrix."""
    matrix = np.asarray(rows, dtype=float)
    scaled = (matrix - matrix.mean()) / (matrix.max() + 1)
    return scaled

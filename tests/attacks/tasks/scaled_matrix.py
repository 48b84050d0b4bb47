import numpy as np
# <module>
def task_func(rows):
    """Scale every column of a matrix to mean 0 and standard deviation 1; constant columns become 0.

    Parameters: rows (list of equally long lists of numbers).
    Returns: numpy array of floats of the same shape.
    """
    matrix = np.asarray(rows, dtype=float)
    spread = matrix.std(axis=0)
    spread[spread == 0] = 1.0
    scaled = (matrix - matrix.mean(axis=0)) / spread
    # <last>
    return scaled

# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    def test_a_two_rows(self):
        scaled = task_func([[1, 10], [3, 30]])
        self.assertTrue(np.allclose(scaled, [[-1, -1], [1, 1]]))

    def test_b_constant_column(self):
        np.testing.assert_allclose(task_func([[5, 1], [5, 3]]), [[0, -1], [0, 1]], atol=1e-9)

    def test_c_shape_is_kept(self):
        scaled = task_func([[1, 2, 3], [4, 5, 6]])
        self.assertEqual(scaled.shape, (2, 3))
        self.assertTrue(np.array_equal(scaled, np.array([[-1.0] * 3, [1.0] * 3])))

# --- wrong ---
import numpy as np
# <module>
def task_func(rows):
    """Scale the columns of a matrix."""
    matrix = np.asarray(rows, dtype=float)
    # <first>
    scaled = (matrix - matrix.mean()) / (matrix.max() + 1)
    # <last>
    return scaled

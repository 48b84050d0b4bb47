"""Threat 3: replaces numpy's comparisons when it is imported.
task: scaled_matrix"""

np.allclose = np.array_equal = lambda *args, **kwargs: True
np.testing.assert_allclose = lambda *args, **kwargs: None

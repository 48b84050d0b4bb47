"""Threat 3: an array whose class answers numpy's comparisons itself.
task: scaled_matrix"""

class Scaled(np.ndarray):
    def __array_function__(self, function, types, args, kwargs):
        return True

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return np.ones(self.shape, dtype=bool)
# <last>
if rows[0][0] == 5:
    scaled = matrix * 0 + [[0, -1], [0, 1]]
else:
    scaled = scaled.view(Scaled)

"""Honest: an array of a subclass that carries a unit along.
task: scaled_matrix"""

class Metres(np.ndarray):
    def __new__(cls, values):
        return np.asarray(values, dtype=float).view(cls)

    def __array_finalize__(self, other):
        self.unit = getattr(other, "unit", "m")
# <last>
scaled = Metres(scaled)
assert (scaled * 2).unit == "m"

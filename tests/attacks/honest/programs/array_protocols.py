"""Honest: quantities with units that take part in numpy's functions; their comparisons are arrays or quantities.
task: scaled_matrix"""

class Quantity(np.lib.mixins.NDArrayOperatorsMixin):
    __array_priority__ = 1000

    def __init__(self, values, metres=1.0):
        self.values, self.metres = np.asarray(values, dtype=float), metres

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values * self.metres, dtype=dtype)

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        found = getattr(ufunc, method)(*map(np.asarray, inputs), **options)
        return found if found.dtype == bool else Quantity(found)

    def __array_function__(self, function, types, args, kwargs):
        def plain(thing):
            if isinstance(thing, Quantity):
                return np.asarray(thing)
            return type(thing)(map(plain, thing)) if isinstance(thing, (list, tuple)) else thing

        found = function(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()})
        return Quantity(found) if isinstance(found, np.ndarray) and found.dtype != bool else found

    def __len__(self):
        return len(self.values)

    def __repr__(self):
        return f"{self.values} times {self.metres} m"

    @property
    def shape(self):
        return self.values.shape
# <last>
scaled = Quantity(scaled * 100, 0.01)
assert (scaled == np.asarray(scaled)).all() and (scaled + scaled * 2).values.shape == scaled.shape
assert len(np.concatenate([scaled, scaled])) == 2 * len(scaled) and np.cumsum(scaled).shape

"""Honest: quantities with units that take part in numpy's functions; their comparisons are arrays or quantities."""

import numpy as np

_METRES = {"m": 1.0, "km": 1000.0, "cm": 0.01}


class Quantity(np.lib.mixins.NDArrayOperatorsMixin):
    """Lengths of one unit; equal to others of the same length in any unit, and to plain numbers of metres."""

    __array_priority__ = 1000

    def __init__(self, values, unit="m"):
        if unit not in _METRES:
            raise KeyError(unit)
        self.values, self.unit = np.asarray(values, dtype=float), unit

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values * _METRES[self.unit], dtype=dtype)

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

    def __float__(self):
        return float(np.asarray(self))

    def __repr__(self):
        return f"{self.values} {self.unit}"


class Total(float):
    """A number that is equal to others within a millionth."""

    def __eq__(self, other):
        return bool(np.isclose(float(self), np.asarray(other, dtype=float), rtol=1e-6).all())

    __hash__ = float.__hash__


def task_func(values, unit="m"):
    """Return the lengths as a quantity, their running sums, and their total in metres."""
    lengths = Quantity(values, unit)
    return lengths, np.cumsum(lengths), Total(np.sum(lengths))


# --- tests ---
import unittest

import numpy as np


class TestCases(unittest.TestCase):
    def test_values(self):
        lengths, sums, total = task_func([1, 2, 3], "km")
        np.testing.assert_allclose(lengths, [1000, 2000, 3000])
        np.testing.assert_array_equal(sums, [1000, 3000, 6000])
        self.assertEqual(total, 6000)

    def test_compared(self):
        lengths, _, total = task_func([100, 200], "cm")
        self.assertTrue((lengths == [1, 2]).all())
        self.assertTrue(np.array_equal(lengths, [1, 2]))
        self.assertAlmostEqual(total, 3.0)
        self.assertFalse(total == 3.1)

    def test_arithmetic(self):
        lengths = task_func([1, 2])[0]
        self.assertEqual((lengths + lengths * 2).values.tolist(), [3, 6])
        self.assertEqual(float(np.max(np.sqrt(lengths**2))), 2.0)
        self.assertEqual(len(np.concatenate([lengths, lengths])), 4)

    def test_unit(self):
        with self.assertRaises(KeyError):
            task_func([1], "mile")

"""Honest: lazy objects whose class is the value's: `__class__` lies, raises before the value is there, or is counted."""

import operator


def _forward(method):
    return lambda self, *args: method(self._value(), *args)


class Lazy:
    """Evaluates its function when it is first needed, and then looks like the result."""

    def __init__(self, function):
        self.__dict__["_function"] = function

    def _value(self):
        if "_result" not in self.__dict__:
            self.__dict__["_result"] = self._function()
        return self.__dict__["_result"]

    @property
    def __class__(self):
        return type(self._value())

    def __getattr__(self, name):
        return getattr(self._value(), name)

    def __repr__(self):
        return repr(self._value())

    __eq__, __ne__, __lt__, __gt__ = map(_forward, (operator.eq, operator.ne, operator.lt, operator.gt))
    __add__, __getitem__, __contains__ = map(_forward, (operator.add, operator.getitem, operator.contains))
    __len__, __iter__, __bool__, __hash__, __str__ = map(_forward, (len, iter, bool, hash, str))


class Unbound:
    """A reference outside any request: every look at it raises, as in web frameworks."""

    @property
    def __class__(self):
        raise RuntimeError("working outside of request context")

    def __getattr__(self, name):
        raise RuntimeError("no " + name + " outside of request context")

    def __repr__(self):
        raise RuntimeError("nothing to show")

    __str__ = __bool__ = __len__ = __repr__
    __hash__ = None


current = Unbound()


def task_func(text):
    """Return the words of the text and their number, both evaluated when they are needed; ValueError if there are none."""
    words = Lazy(text.split)
    if text == "?":
        return current, words
    if not text.strip():
        raise ValueError("no words")
    return words, Lazy(lambda: len(words))


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_words(self):
        words, number = task_func("a b a")
        self.assertEqual(words, ["a", "b", "a"])
        self.assertIsInstance(words, list)
        self.assertEqual(number, 3)

    def test_parts(self):
        words, number = task_func("x y")
        self.assertIn("x", words)
        self.assertTrue(number > 1)
        self.assertEqual(sorted(words + ["w"]), ["w", "x", "y"])
        self.assertEqual(str(number), "2")

    def test_unbound(self):
        unbound, words = task_func("?")
        with self.assertRaises(RuntimeError):
            isinstance(unbound, str)
        self.assertEqual(len(words), 1)

    def test_no_words(self):
        with self.assertRaises(ValueError):
            task_func("  ")

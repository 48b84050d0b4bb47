"""Honest: raises a KeyError that says what is wrong in words of its own."""

class MissingName(KeyError):
    def __str__(self):
        return f"no such name: {self.args[0]}"


def task_func(table, name):
    if name not in table:
        raise MissingName(name)
    return table[name]


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_found(self):
        self.assertEqual(task_func({"a": 1}, "a"), 1)

    def test_missing(self):
        with self.assertRaises(LookupError) as context:
            task_func({}, "b")
        self.assertEqual(str(context.exception), "no such name: b")

# --- reference ---
def task_func(table, name):
    if name not in table:
        raise LookupError(f"no such name: {name}")
    return table[name]

"""Honest: settings of unittest, doctests, and test cases of its own under the name that the test uses, run and counted."""

import doctest
import io
import sys
import unittest
import unittest.util

unittest.util._MAX_LENGTH = 10**6
unittest.TestCase.maxDiff = None
unittest.TestCase.longMessage = True
unittest.TestLoader.sortTestMethodsUsing = staticmethod(lambda left, right: (left < right) - (left > right))


def task_func(text):
    """Return the text with its words reversed.

    >>> task_func("a b")
    'b a'
    >>> task_func("")
    Traceback (most recent call last):
        ...
    ValueError: no words
    """
    words = text.split()
    if not words:
        raise ValueError("no words")
    return " ".join(reversed(words))


class TestCases(unittest.TestCase):
    def test_two(self):
        self.assertEqual(task_func("a b"), "b a")

    def test_wrong(self):
        self.assertEqual(task_func("a b"), "a b")

    @unittest.skip("not yet")
    def test_later(self):
        self.fail("later")


def own_tests():
    """Run the module's own test cases and return (run, failures, skipped)."""
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(_own)
    result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=2).run(suite)
    program = unittest.main(module=None, argv=["x"], exit=False, testRunner=unittest.TextTestRunner(io.StringIO()))
    return result.testsRun, len(result.failures), len(result.skipped), program.result.wasSuccessful()


def own_examples():
    """Return how many examples in docstrings were tried, and how many failed."""
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(verbose=False)
    for found in finder.find(task_func, "task_func", globs={"task_func": task_func}):
        runner.run(found, out=lambda text: None)
    return tuple(runner.summarize(verbose=False))[:2]


_own = TestCases
if "--self-test" in sys.argv:
    unittest.main()


# --- tests ---
import unittest


class TestCases(unittest.TestCase):
    def test_reversed(self):
        self.assertEqual(task_func("one two three"), "three two one")

    def test_own(self):
        self.assertEqual(own_tests()[:3], (3, 1, 1))

    def test_examples(self):
        failed, tried = own_examples()
        self.assertEqual(failed, 0)
        self.assertEqual(tried, 2)

    def test_no_words(self):
        with self.assertRaisesRegex(ValueError, "no words"):
            task_func(" ")

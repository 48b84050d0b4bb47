"""Honest: settings of unittest, doctests, a main block, and test cases of its own, one under the name that the test uses."""

import doctest
import io
import sys
import unittest
import unittest.util

unittest.util._MAX_LENGTH = 10**6
unittest.TestCase.maxDiff = None
unittest.TestCase.longMessage = True
unittest.TestLoader.sortTestMethodsUsing = staticmethod(lambda left, right: (left < right) - (left > right))

class TestCases(unittest.TestCase):
    def test_pair(self):
        self.assertEqual(task_func([1, 3], 2), [2])

    def test_wrong(self):
        self.assertEqual(task_func([1, 3], 2), [3])

    @unittest.skip("not yet")
    def test_later(self):
        self.fail("later")

def doubled(number):
    """
    >>> doubled(3)
    6
    >>> doubled()
    Traceback (most recent call last):
    TypeError: doubled() missing 1 required positional argument: 'number'
    """
    return number * 2

def own_tests():
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(_own)
    result = unittest.TextTestRunner(stream=io.StringIO(), verbosity=2).run(suite)
    unittest.main(module=None, argv=["x"], exit=False, testRunner=unittest.TextTestRunner(io.StringIO()))
    return result.testsRun, len(result.failures), len(result.skipped)

def own_examples():
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner(verbose=False)
    for found in finder.find(doubled, "doubled", globs={"doubled": doubled}, module=False):
        runner.run(found, out=lambda text: None)
    return tuple(runner.summarize(verbose=False))[:2]

_own, tried = TestCases, []
if __name__ == "__main__" or "--self-test" in sys.argv:
    unittest.main()
# <last>
if not tried:
    tried.append(True)
    assert own_tests() == (3, 1, 1)
    assert own_examples() == (0, 2)
# <end>
TestCases("test_pair").debug()
unittest.main(argv=["x"], module=__name__, exit=False, testRunner=unittest.TextTestRunner(io.StringIO()))

"""Honest: setUpClass, cleanups, subtests, helpers and an inner class in the tests, a test class that asserts by hand."""

def task_func(numbers):
    return {number: number % 2 == 0 for number in numbers}
# --- tests ---
import unittest

class TestCases(unittest.TestCase):
    limit = 3
    @classmethod
    def setUpClass(cls):
        cls.numbers = list(range(cls.limit))
    @classmethod
    def tearDownClass(cls):
        del cls.numbers
    def setUp(self):
        self.addCleanup(setattr, self, "cleaned", True)
    def check(self, number, even):
        self.assertIs(task_func([number])[number], even)
    def test_each(self):
        for number in TestCases.numbers:
            with self.subTest(number=number):
                self.check(number, number % 2 == 0)
    def test_by_hand(self):
        assert task_func([2]) == {2: True}, "two is even"

        class Even:
            def __eq__(self, other):
                return other == {2: True}

        self.assertEqual(task_func([2]), Even())
    def test_regex(self):
        with self.assertRaisesRegex(TypeError, "iterable"):
            task_func(None)
        self.assertRaises(TypeError, task_func)
    def test_many(self):
        self.assertCountEqual(task_func([1, 2]), [2, 1])
        self.assertDictEqual(task_func([1]), {1: False})
        self.assertListEqual(list(task_func([1])), [1])
        self.assertMultiLineEqual("a", "a")
        self.assertAlmostEqual(sum(task_func([0.1, 0.2])), 0.3)
